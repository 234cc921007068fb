// Scatters of one row in the kernels that compute the row.
#include "codegen/lower/row_updates.h"

#include <string>

#include "codegen/lower/lower_graph.h"
#include "gmock/gmock.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/codegen/lower/host_programs.h"

namespace tailor::lower {
namespace {

using testing::HasSubstr;
using testing::Not;

// The last host program of a loop that sets row t of its state %y to %row. `body` computes %row, and %y.2 from it.
std::string BodyOf(const std::string& body) {
  auto parsed = ParseGraph(R"(
graph @rows(%x: f32[T, B]) {
  %zero = constant 0 : f32[]
  %none = broadcast %zero {shape = [T, B]}
  %start = constant 0 : i64[]
  %last, %rows, %same = while(%start, %none, %x) {
    region(%t: i64[], %y: f32[T, B], %x: f32[T, B]) {
      %positions = iota {shape = [T + 1], axis = 0, dtype = i64}
      %at = slice %positions {starts = [T], sizes = [1]}
      %count = reshape %at {shape = []}
      %goes = lt %t, %count
      return %goes
    }
    region(%t: i64[], %y: f32[T, B], %x: f32[T, B]) {
      %place = reshape %t {shape = [1]}
      %before = gather %x, %t {axis = 0}
)" + body + R"(
      %one = constant 1 : i64[]
      %next = add %t, %one
      return %next, %y.2, %x
    }
  }
  return "rows" = %rows
}
)");
  if (!parsed.ok()) return parsed.status().ToString();
  auto lowered = LowerGraph(*parsed, TargetTraits{});
  if (!lowered.ok()) return lowered.status().ToString();
  std::string out = lowered->programs.back().Text();
  for (const KernelPlan& plan : lowered->kernels) out += plan.Text();
  return out;
}

constexpr char kSet[] = R"(%y.2 = scatter %y, %place, %row {combiner = "set"})";

TEST(RowUpdates, TheKernelThatComputesARowSetsIt) {
  const std::string body = BodyOf(std::string("%row = tanh %before\n") + kSet);
  EXPECT_THAT(body, HasSubstr("launch 0 g0_tanh("));
  EXPECT_THAT(body, Not(HasSubstr("launch 1")));
  EXPECT_THAT(body, HasSubstr("b2[d2, a0] = e0\n"));
}

// Threads of a kernel may write the row before others have read it.
TEST(RowUpdates, NotInAKernelThatReadsTheState) {
  EXPECT_THAT(BodyOf(std::string(R"(
      %first = slice %y {starts = [0, 0], sizes = [1, B]}
      %flat = reshape %first {shape = [B]}
      %row = add %before, %flat
)") + kSet),
              HasSubstr("_scatter("));
}

TEST(RowUpdates, NotWithAnotherCombiner) {
  EXPECT_THAT(BodyOf("%row = tanh %before\n %y.2 = scatter %y, %place, %row {combiner = \"add\"}"),
              HasSubstr("_scatter("));
}

// The row may be the last one, one beyond it, or none.
TEST(RowUpdates, NotWhereTheRowMayNotExist) {
  EXPECT_THAT(BodyOf(R"(
      %row = tanh %before
      %single = constant 1 : i64[]
      %beyond = add %place, %single
      %y.2 = scatter %y, %beyond, %row {combiner = "set"})"),
              HasSubstr("faults from"));
}

// The second scatter's row is computed before the first scatter runs: set then, it would be overwritten.
TEST(RowUpdates, NotBeforeAnotherUpdateOfTheMemory) {
  const std::string programs = HostPrograms(R"(
graph @g(%m: f32[R, 8], %v: f32[8]) where R in [1, 64] {
  %i = constant 0 : i64[]
  %at = reshape %i {shape = [1]}
  %b = exp %v
  %a = tanh %v
  %first = scatter %m, %at, %a {combiner = "set"}
  %second = scatter %first, %at, %b {combiner = "set"}
  return "second" = %second
})",
                                            {true});
  EXPECT_THAT(programs, HasSubstr("output 0 [R, 8] in the memory of input 0"));
  EXPECT_THAT(programs, HasSubstr("g0_exp(in1, w0)"));
  EXPECT_THAT(programs, HasSubstr("g1_tanh(in1, w1, out0)"));
  EXPECT_THAT(programs, HasSubstr("_scatter("));
}

}  // namespace
}  // namespace tailor::lower
