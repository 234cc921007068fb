// Loops and branches that the host decides: which they are, and their host programs.
#include "codegen/lower/counted_loop.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/lower/host_programs.h"

namespace tailor::lower {
namespace {

using testing::HasSubstr;
using testing::Not;

// A loop over %t, of type i64[], and %sum, f32[B], which adds row %t of %x. `condition` returns, `body` computes %next.
std::string Rows(const std::string& condition, const std::string& body, const std::string& outputs = "\"sum\" = %sum",
                 const std::string& first = "0", const std::string& sum = "%more") {
  return HostPrograms(R"(
graph @rows(%x: f32[T, B], %n: i64[]) {
  %zero = constant 0 : f32[]
  %none = broadcast %zero {shape = [B]}
  %start = constant )" +
                      first + R"( : i64[]
  %last, %sum, %x.2, %n.2 = while(%start, %none, %x, %n) {
    region(%t: i64[], %sum: f32[B], %x: f32[T, B], %n: i64[]) {
      %positions = iota {shape = [T + 1], axis = 0, dtype = i64}
      %at = slice %positions {starts = [T], sizes = [1]}
      %count = reshape %at {shape = []}
)" + condition + R"(
    }
    region(%t: i64[], %sum: f32[B], %x: f32[T, B], %n: i64[]) {
      %row = gather %x, %t {axis = 0}
      %more = add %sum, %row
      %one = constant 1 : i64[]
)" + body + R"(
      return %next, )" +
                      sum + R"(, %x, %n
    }
  }
  return )" + outputs +
                      R"(
}
)");
}

constexpr char kUpToT[] = "%goes = lt %t, %count\n return %goes";
constexpr char kUp[] = "%next = add %t, %one";

TEST(CountedLoops, TheHostCountsALoopOverADim) {
  EXPECT_EQ(Rows(kUpToT, kUp), R"(
program 0
bind T = input 0 dim 0
bind B = input 0 dim 1
check 0: T <= 2147483647
check 1: B <= 2147483647
output 0 [B]
alloc w0 = 4*B live [0, 2]
alloc w1 = 4*B live [1, 2]
alloc w2 = 4*B live [1, 2]
launch 0 g0_broadcast(w0) dims [B]
call 0 while %5#0([0] counts t from 0, then t + 1, w0 to w1, w2, in0, in1) as long as min(max(0, T - t), 1) programs 1
launch 1 g2_reshape(r0.1, out0) dims [B]
program 1
bind t = input 0 dim 0
bind B = input 1 dim 0
bind T = input 2 dim 0
check 0: input 2 dim 1 == B
check 1: B <= 2147483647
check 2: T <= 2147483647
output 1 [B]
launch 0 g0_add(in1, in2, out1) dims [B, T, t]
)");
}

// Its kernel writes it in each iteration.
TEST(CountedLoops, ACounterThatIsReadAfterTheLoopIsATensorToo) {
  const std::string programs = Rows(kUpToT, kUp, "\"sum\" = %sum, \"last\" = %last");
  EXPECT_THAT(programs, HasSubstr("while %5#0(c0 to w1, w2 counts t from 0, then t + 1"));
}

TEST(CountedLoops, KernelsDecideWhatFollowsFromTheirResults) {
  const char* const not_counted[] = {
      "%goes = lt %t, %n\n return %goes",  // a tensor's value
      "%goes = le %t, %n\n return %goes",
  };
  for (const char* condition : not_counted) EXPECT_THAT(Rows(condition, kUp), HasSubstr("condition w")) << condition;
  EXPECT_THAT(Rows(kUpToT, "%next = add %t, %n"), HasSubstr("condition w"));
}

// A dim size is never negative, and a count may wrap around where a dim size fails the run.
TEST(CountedLoops, CountersAreNeverNegativeAndGrowSlowly) {
  EXPECT_THAT(Rows(kUpToT, "%next = sub %t, %one"), HasSubstr("condition w"));
  EXPECT_THAT(Rows(kUpToT, kUp, "\"sum\" = %sum", "-1"), HasSubstr("condition w"));
  EXPECT_THAT(Rows(kUpToT, "%twice = add %t, %t\n %next = add %twice, %one"), HasSubstr("condition w"));
  EXPECT_THAT(Rows(kUpToT, "%square = mul %t, %t\n %next = add %square, %one"), HasSubstr("condition w"));
}

TEST(CountedLoops, ConditionsMayBeLogical) {
  EXPECT_THAT(Rows(R"(
      %three = constant 3 : i64[]
      %other = ne %t, %three
      %below = ge %count, %t
      %not_below = not %below
      %either = or %other, %not_below
      %goes = and %either, %below
      return %goes)",
                   kUp),
              Not(HasSubstr("condition w")));
}

// The inner loop's count is the outer loop's counter, which is then part of its layout's key.
TEST(CountedLoops, LoopsNest) {
  const std::string programs = Rows(kUpToT, R"(
      %begin = constant 0 : i64[]
      %i, %inner, %end = while(%begin, %more, %t) {
        region(%i: i64[], %sum: f32[C], %end: i64[]) {
          %goes = lt %i, %end
          return %goes
        }
        region(%i: i64[], %sum: f32[C], %end: i64[]) {
          %less = tanh %sum
          %one = constant 1 : i64[]
          %next = add %i, %one
          return %next, %less, %end
        }
      }
      %next = add %t, %one)",
                                    "\"sum\" = %sum", "0", "%inner");
  EXPECT_THAT(programs, HasSubstr("counts i from 0, then i + 1"));
  EXPECT_THAT(programs, HasSubstr("as long as min(max(0, t - i), 1)"));
}

TEST(CountedLoops, TheHostDecidesABranchByDims) {
  const std::string programs = HostPrograms(R"(
graph @either(%x: f32[B, S]) where B, S {
  %positions = iota {shape = [B + 1], axis = 0, dtype = i64}
  %at = slice %positions {starts = [B], sizes = [1]}
  %count = reshape %at {shape = []}
  %few = constant 3 : i64[]
  %c = lt %count, %few
  %y = if(%c, %x) {shapes = [B, S]} {
    region(%a: f32[M, N]) {
      %n = neg %a
      return "y" = %n
    }
    region(%a: f32[M, N]) {
      %t = tanh %a
      return "y" = %t
    }
  }
  return "y" = %y
}
)");
  EXPECT_THAT(programs, HasSubstr("call 0 if %y(in0) if min(max(0, -B + 3), 1) programs 1, 2 results w0"));
  EXPECT_THAT(programs, Not(HasSubstr("_lt(")));  // no kernel compares
}

// Its results are its operands: the body returns the counter, as a tensor of one element.
TEST(CountedLoops, ALoopThatChangesNothingElse) {
  const std::string programs = HostPrograms(R"(
graph @g(%x: f32[T, B]) {
  %z = constant 0 : i64[]
  %a, %y = while(%z, %x) {
    region(%t: i64[], %x: f32[T, B]) {
      %positions = iota {shape = [T + 1], axis = 0, dtype = i64}
      %at = slice %positions {starts = [T], sizes = [1]}
      %count = reshape %at {shape = []}
      %goes = lt %t, %count
      return %goes
    }
    region(%t: i64[], %x: f32[T, B]) {
      %one = constant 1 : i64[]
      %next = add %t, %one
      return %next, %x
    }
  }
  return "y" = %y
}
)");
  EXPECT_THAT(programs, HasSubstr("alloc w0 = 8 "));
  EXPECT_THAT(programs, HasSubstr("output 0 []"));
  EXPECT_THAT(programs, Not(HasSubstr("output 0 [t]")));
}

TEST(CountedLoops, WhatTheConditionDoesNotNeedIsNotCounted) {
  const std::string programs = HostPrograms(R"(
graph @g(%x: f32[B]) {
  %z = constant 0 : i64[]
  %s0 = constant 1 : i64[]
  %t1, %s1, %x1 = while(%z, %s0, %x) {
    region(%t: i64[], %s: i64[], %x: f32[B]) {
      %most = constant 100 : i64[]
      %goes = lt %t, %most
      return %goes
    }
    region(%t: i64[], %s: i64[], %x: f32[B]) {
      %one = constant 1 : i64[]
      %next = add %t, %one
      %random = constant 6364136223846793005 : i64[]
      %sum = add %s, %random
      %y = tanh %x
      return %next, %sum, %y
    }
  }
  return "y" = %x1, "s" = %s1
}
)");
  EXPECT_THAT(programs, HasSubstr("counts t from 0"));
  EXPECT_THAT(programs, Not(HasSubstr("counts s")));
}

// %t2 doubles within a maximum; %u adds what may overflow.
TEST(CountedLoops, NestedGrowthIsSlowToo) {
  EXPECT_THAT(Rows(kUpToT, "%twice = add %t, %t\n %next = max %twice, %one"), HasSubstr("condition w"));
  EXPECT_THAT(Rows(kUpToT, "%large = constant 5000000000 : i64[]\n %next = add %t, %large"), HasSubstr("condition w"));
  EXPECT_THAT(Rows(kUpToT, "%more_t = add %t, %one\n %next = max %more_t, %one"), HasSubstr("counts t"));
}

// The condition's region has a bound that the body's lacks: kernels compute it, and the bound is checked.
TEST(CountedLoops, ChecksOfTheConditionStay) {
  EXPECT_THAT(HostPrograms(R"(
graph @g(%x: f32[T, B]) {
  %z = constant 0 : i64[]
  %a, %y = while(%z, %x) {
    region(%t: i64[], %x: f32[T, B]) where T in [1, 4], B {
      %three = constant 3 : i64[]
      %goes = lt %t, %three
      return %goes
    }
    region(%t: i64[], %x: f32[T, B]) {
      %one = constant 1 : i64[]
      %next = add %t, %one
      %more = tanh %x
      return %next, %more
    }
  }
  return "y" = %y
}
)"),
              HasSubstr("condition w"));
}

// The body never runs, as its bound and the condition say; the check of its bound tells other lengths.
TEST(CountedLoops, ABodyThatCannotRunCompiles) {
  EXPECT_THAT(HostPrograms(R"(
graph @g(%x: f32[T, B]) where T in [0, 8], B {
  %z = constant 0 : i64[]
  %zero = constant 0 : f32[]
  %none = broadcast %zero {shape = [B]}
  %a, %s, %y = while(%z, %none, %x) {
    region(%t: i64[], %s: f32[B], %x: f32[T, B]) where T in [0, 0], B {
      %positions = iota {shape = [T + 1], axis = 0, dtype = i64}
      %at = slice %positions {starts = [T], sizes = [1]}
      %count = reshape %at {shape = []}
      %goes = lt %t, %count
      return %goes
    }
    region(%t: i64[], %s: f32[B], %x: f32[T, B]) where T in [0, 0], B {
      %one = constant 1 : i64[]
      %next = add %t, %one
      %more = tanh %s
      return %next, %more, %x
    }
  }
  return "s" = %s
}
)"),
              HasSubstr("counts t from 0"));
}

}  // namespace
}  // namespace tailor::lower
