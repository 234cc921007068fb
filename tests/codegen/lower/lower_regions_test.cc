// Host programs of graphs with loops, branches and data-dependent dims.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/lower/host_programs.h"

namespace tailor::lower {
namespace {

// The state swaps two places, the rows go where they belong, and the input is read where it is.
TEST(LowerRegions, ALoopSwapsPlacesAndUpdatesInPlace) {
  EXPECT_EQ(HostPrograms(R"(
graph @rows(%x: f32[T, B], %n: i64[]) {
  %zero = constant 0 : f32[]
  %none = broadcast %zero {shape = [T, B]}
  %start = constant 0 : i64[]
  %rows, %t, %h, %n.2, %x.2 = while(%none, %start, %x, %n, %x) {
    region(%rows: f32[R, C], %t: i64[], %h: f32[R, C], %n: i64[], %x: f32[R, C]) {
      %more = lt %t, %n
      return %more
    }
    region(%rows: f32[R, C], %t: i64[], %h: f32[R, C], %n: i64[], %x: f32[R, C]) {
      %next = mul %h, %x
      %row = gather %next, %t {axis = 0}
      %at = reshape %t {shape = [1, 1]}
      %update = reshape %row {shape = [1, C]}
      %new_rows = scatter %rows, %at, %update {combiner = "set"}
      %one = constant 1 : i64[]
      %new_t = add %t, %one
      return %new_rows, %new_t, %next, %n, %x
    }
  }
  return "rows" = %rows, "h" = %h
}
)"),
            R"(
program 0
bind T = input 0 dim 0
bind B = input 0 dim 1
check 0: T <= 2147483647
check 1: B <= 2147483647
output 0 [T, B]
output 1 [T, B]
alloc w0 = 4*T*B live [0, 2]
alloc w1 = 8 live [1, 1]
alloc w2 = 8 live [1, 1]
alloc w3 = 4*T*B live [1, 3]
alloc w4 = 4*T*B live [1, 3]
alloc w5 = 1 live [1, 1]
launch 0 g0_broadcast(w0) dims [T*B, T, B]
call 0 while %5#0(w0 in place, c0 to w1, w2, in0 to w3, w4, in1, in0) condition w5 programs 1, 2
launch 1 g2_reshape(w0, out0) dims [T*B, T, B]
launch 2 g3_reshape(r0.2, out1) dims [T*B, T, B]
program 1
bind R = input 0 dim 0
bind C = input 0 dim 1
check 0: input 2 dim 0 == R
check 1: input 2 dim 1 == C
check 2: input 4 dim 0 == R
check 3: input 4 dim 1 == C
check 4: R <= 2147483647
check 5: C <= 2147483647
output 0 []
launch 0 g0_lt(in1, in3, out0) dims []
program 2
bind R = input 0 dim 0
bind C = input 0 dim 1
check 0: input 2 dim 0 == R
check 1: input 2 dim 1 == C
check 2: input 4 dim 0 == R
check 3: input 4 dim 1 == C
check 4: R <= 2147483647
check 5: C <= 2147483647
check 6: R >= 1
output 0 [R, C]
output 1 []
output 2 [R, C]
alloc w0 = 4*C live [1, 2]
launch 0 g0_mul(in2, in4, out2) dims [R*C, R, C]
launch 1 g1_gather(in1, out2, w0) dims [C, R] faults from 7
launch 2 g2_scatter(in1, w0, in0) dims [C, R] faults from 8
launch 3 g3_add(in1, out1) dims []
)");
}

// A loop that replaces row t of its state. `before` computes %update, f32[1, C]; `after` ends with the results.
std::string UpdatedRows(const std::string& before, const std::string& after) {
  return HostPrograms(R"(
graph @rows(%x: f32[T, B], %n: i64[]) {
  %zero = constant 0 : f32[]
  %none = broadcast %zero {shape = [T, B]}
  %start = constant 0 : i64[]
  %rows, %t, %n.2 = while(%none, %start, %n) {
    region(%rows: f32[R, C], %t: i64[], %n: i64[]) {
      %more = lt %t, %n
      return %more
    }
    region(%rows: f32[R, C], %t: i64[], %n: i64[]) {
      %at = reshape %t {shape = [1, 1]}
)" + before + R"(
      %new_rows = scatter %rows, %at, %update {combiner = "set"}
      %one = constant 1 : i64[]
      %new_t = add %t, %one
)" + after + R"(
    }
  }
  return "rows" = %rows
}
)");
}

TEST(LowerRegions, AStateThatIsReadBeforeItsUpdateIsUpdatedInPlace) {
  const std::string read = "%update = reduce_sum %rows {axes = [0], keep_dims = 1}\n";
  EXPECT_THAT(UpdatedRows(read, "return %new_rows, %new_t, %n"), testing::HasSubstr("(w0 in place, "));
}

TEST(LowerRegions, AStateThatIsReadAfterItsUpdateIsNot) {
  const std::string read = "%update = reduce_sum %rows {axes = [0], keep_dims = 1}\n";
  EXPECT_THAT(UpdatedRows(read, "%sum = add %new_rows, %rows\n return %sum, %new_t, %n"),
              testing::Not(testing::HasSubstr("in place")));
  EXPECT_THAT(UpdatedRows(read, R"(
      %late = reduce_sum %new_rows {axes = [0, 1]}
      %early = reduce_sum %rows {axes = [0, 1]}
      %differs = ne %late, %early
      %step = cast %differs {dtype = i64}
      %next_t = add %new_t, %step
      return %new_rows, %next_t, %n)"),
              testing::Not(testing::HasSubstr("in place")));
}

// The state is an operand of an inner loop that does not change it: its result aliases the operand.
TEST(LowerRegions, AStateThatAnInnerLoopHandsOnIsUpdatedInPlaceUnlessThatIsRead) {
  const std::string inner = R"(
      %zero = constant 0 : f32[]
      %sum = broadcast %zero {shape = [1, C]}
      %first = constant 0 : i64[]
      %update, %i, %same, %n.3 = while(%sum, %first, %rows, %n) {
        region(%sum: f32[1, D], %i: i64[], %rows: f32[P, D], %n: i64[]) {
          %more = lt %i, %n
          return %more
        }
        region(%sum: f32[1, D], %i: i64[], %rows: f32[P, D], %n: i64[]) {
          %all = reduce_sum %rows {axes = [0], keep_dims = 1}
          %next = add %all, %sum
          %one = constant 1 : i64[]
          %next_i = add %i, %one
          return %next, %next_i, %rows, %n
        }
      }
)";
  EXPECT_THAT(UpdatedRows(inner, "return %new_rows, %new_t, %n"), testing::HasSubstr("(w0 in place, "));
  EXPECT_THAT(UpdatedRows(inner, "%new = add %new_rows, %same\n return %new, %new_t, %n"),
              testing::Not(testing::HasSubstr("in place")));
}

TEST(LowerRegions, DataDependentStepsAreInTheContinuation) {
  EXPECT_EQ(HostPrograms(R"(
graph @head(%x: f32[B], %n: i64[]) where B, N in [1, 64] {
  %m = bind %n {extent = [N]}
  %y = neg %x
  %z = slice %y {starts = [0], sizes = [N]}
  %e = exp %z
  return "y" = %y, "e" = %e, "n" = %m
}
)"),
            R"(
program 0
bind B = input 0 dim 0
check 0: B <= 2147483647
output 0 [B]
output 2 []
launch 0 g0_neg(in0, out0) dims [B]
launch 1 g2_reshape(in1, out2) dims []
call 0 continuation(out0, in1, [B], [in1]) programs 1
program 1
bind B = input 0 dim 0
bind N = input 3 dim 0
check 0: B <= 2147483647
check 1: N >= 1
check 2: N <= 64
check 3: N <= B
output 1 [N]
launch 0 g0_exp(in0, out1) dims [N, B]
)");
}

TEST(LowerRegions, ABranchWritesToPlacesOrToMemoryThatGrows) {
  EXPECT_EQ(HostPrograms(R"(
graph @either(%c: bool[], %x: f32[B, S]) where B, S, P, Q {
  %same, %turned = if(%c, %x) {shapes = [B, S, P, Q]} {
    region(%a: f32[M, N]) {
      %n = neg %a
      return "same" = %n, "turned" = %a
    }
    region(%a: f32[M, N]) {
      %t = transpose %a {permutation = [1, 0]}
      return "same" = %a, "turned" = %t
    }
  }
  %e = exp %turned
  return "same" = %same, "e" = %e
}
)"),
            R"(
program 0
bind B = input 1 dim 0
bind S = input 1 dim 1
check 0: B <= 2147483647
check 1: S <= 2147483647
output 0 [B, S]
alloc w0 = 4*B*S live [0, 1]
call 0 if %2#0(in1) condition in0 programs 1, 2 results w0, grown 0
launch 0 g2_reshape(w0, out0) dims [B*S, B, S]
call 1 continuation(r0.1) programs 3
program 1
bind M = input 0 dim 0
bind N = input 0 dim 1
check 0: M <= 2147483647
check 1: N <= 2147483647
output 0 [M, N]
output 1 [M, N]
launch 0 g0_neg(in0, out0) dims [M*N, M, N]
launch 1 g1_reshape(in0, out1) dims [M*N, M, N]
program 2
bind M = input 0 dim 0
bind N = input 0 dim 1
check 0: M <= 2147483647
check 1: N <= 2147483647
output 0 [M, N]
output 1 [N, M]
launch 0 g0_transpose(in0, out1) dims [N, M]
launch 1 g1_reshape(in0, out0) dims [M*N, M, N]
program 3
bind P = input 0 dim 0
bind Q = input 0 dim 1
check 0: P <= 2147483647
check 1: Q <= 2147483647
output 1 [P, Q]
launch 0 g0_exp(in0, out1) dims [P*Q, P, Q]
)");
}

TEST(LowerRegions, ErrorsNameTheLoop) {
  EXPECT_EQ(HostPrograms(R"(
graph @g(%x: f32[B]) {
  %y = while(%x) {
    region(%a: f32[N]) { %no = constant false : bool[] return %no }
    region(%a: f32[N]) where M {
      %b = broadcast %a {shape = [M, N]}
      %c = reduce_sum %b {axes = [0]}
      return %c
    }
  }
  return %y
}
)"),
            "INVALID_ARGUMENT: while %y: symbol M cannot be solved: no input dim has the form c*M + d, and nothing "
            "equates it with other symbols (broadcast %b has size M) [tailor/node='y']");
  EXPECT_EQ(HostPrograms(R"(
graph @g(%x: f32[B], %n: i64[]) {
  %m = bind %n {extent = [B]}
  return %m
}
)"),
            "INVALID_ARGUMENT: bind %m: symbol B has a value already");
}

}  // namespace
}  // namespace tailor::lower
