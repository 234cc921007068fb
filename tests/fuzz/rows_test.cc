// Rows of costly elements with several reductions each. Most are software-pipelined
// (codegen/cpu/loops/pipelined_rows.h): the first stage of the next row and the last stage of the previous one run in a
// loop of the current row. At dim sizes around multiples of vectors, around 128 elements, up to which rows run side by
// side, and at one, two and three rows.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "codegen/cpu/emit_cpu.h"
#include "codegen/cpu/loops/pipelined_rows.h"
#include "codegen/link/target_machine.h"
#include "codegen/lower/lower_graph.h"
#include "gtest/gtest.h"
#include "tests/fuzz/expect_right.h"
#include "tests/support/levels.h"

namespace tailor {
namespace {

constexpr const char* kLevels[] = {"x86-64-v3", "x86-64-v4"};  // of 16 and of 32 registers

// What the first stage does ahead: it reduces what it computes, or keeps that in row buffers besides.
enum class Ahead { kReduces, kKeeps };

// Whether the last stage runs in the loops of the row after.
enum class Behind { kNothing, kLastStage };

// That the rows of the graph, which is one kernel, look ahead in stage number `stage`.
void ExpectAhead(const std::string& text, const char* level, Ahead ahead, int stage, Behind behind) {
  const auto graph = ParseGraph(text, SmallNumbers);
  ASSERT_TRUE(graph.ok()) << graph.status() << "\n" << text;
  const TargetTraits traits = FindCpuTarget(level)->traits;
  const auto lowered = lower::LowerGraph(*graph, traits);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  ASSERT_EQ(lowered->kernels.size(), 1) << text;
  const KernelPlan& plan = lowered->kernels[0];
  const Schedule schedule = cpu::ScheduleOnCpu(plan, traits);
  EXPECT_EQ(schedule.overlap_stage, stage) << plan.Text();
  EXPECT_EQ(schedule.defer_last_stage, behind == Behind::kLastStage) << plan.Text();
  EXPECT_EQ(cpu::KeepsAhead(plan), ahead == Ahead::kKeeps) << plan.Text();
}

// The same, and their results.
void ExpectRightAhead(const std::string& text, Ahead ahead = Ahead::kReduces, int stage = 1,
                      Behind behind = Behind::kLastStage) {
  const auto devices = CpuDevices();
  for (const char* level : kLevels) {
    ExpectAhead(text, level, ahead, stage, behind);
    if (!RunsOrSays(level)) continue;
    const auto device = std::find_if(devices.begin(), devices.end(), [&](const auto& d) { return d->name() == level; });
    ExpectRightOn(**device, text);
  }
}

// The softmax, along the last of its axes, of what `body` calls %z.
std::string Softmax(const std::string& inputs, const std::string& body, const std::string& axes = "[1]") {
  return absl::StrCat("graph @g(", inputs, ") where R in [0, 24] {\n", body, "  %m = reduce_max %z {axes = ", axes,
                      ", keep_dims = 1}\n  %d = sub %z, %m\n  %e = exp %d\n  %s = reduce_sum %e {axes = ", axes,
                      ", keep_dims = 1}\n  %y = div %e, %s\n  return %y\n}");
}

TEST(Rows, SoftmaxOfAllTypes) {
  for (const char* dtype : {"f32", "f64", "f16", "bf16"}) {
    ExpectRightAhead(Softmax(absl::StrCat("%z: ", dtype, "[R, C + 127]"), ""));
  }
}

TEST(Rows, SoftmaxInAWiderType) {
  ExpectRightAhead(R"(
graph @g(%x: f16[R, C + 127]) where R in [0, 24] {
  %z = cast %x {dtype = f32}
  %m = reduce_max %z {axes = [1], keep_dims = 1}
  %d = sub %z, %m
  %e = exp %d
  %s = reduce_sum %e {axes = [1], keep_dims = 1}
  %q = div %e, %s
  %y = cast %q {dtype = f16}
  return %y
})");
}

TEST(Rows, OfShortRows) { ExpectRightAhead(Softmax("%z: f32[R, C]", "")); }

// Shorter than a vector, with buffers of narrow elements beside f64.
TEST(Rows, OfShortRowsInSeveralTypes) {
  std::string text = R"(graph @g(%x: f32[R, C]) where R in [0, 40], C in [1, 6] {
  %w = cast %x {dtype = f64}
  %m = reduce_mean %w {axes = [1], keep_dims = 1}
  %u = sub %w, %m
  %sum0 = cast %u {dtype = f16}
)";
  for (int i = 1; i <= 4; ++i) {
    absl::StrAppend(&text, absl::Substitute(R"(  %scale$0 = constant $0 : f64[]
  %a$0 = mul %u, %scale$0
  %b$0 = tanh %a$0
  %h$0 = cast %b$0 {dtype = f16}
  %t$0 = reduce_max %h$0 {axes = [1], keep_dims = 1}
  %d$0 = sub %h$0, %t$0
  %sum$0 = add %sum$1, %d$0
)",
                                            i, i - 1));
  }
  ExpectRight(text + "  %y = cast %sum4 {dtype = f32}\n  return %y\n}");
}

TEST(Rows, OfFewRows) {
  for (const char* body : {"  %z = neg %x\n", "  %z = tanh %x\n"}) {
    for (const char* columns : {"129", "256", "300"}) {
      const std::string text = Softmax(absl::StrCat("%x: f32[R, ", columns, "]"), body);
      const Ahead ahead = absl::StrContains(text, "tanh") ? Ahead::kKeeps : Ahead::kReduces;
      ExpectRightAhead(absl::StrReplaceAll(text, {{"R in [0, 24]", "R in [1, 3]"}}), ahead);
    }
  }
}

// Of one slow op, more vectors of each row are under way; the last stage takes the next row along.
constexpr char kPowers[] = R"(
graph @g(%x: f32[R, C + 127]) where R in [0, 24] {
  %m = reduce_max %x {axes = [1], keep_dims = 1}
  %d = sub %x, %m
  %y = exp %d
  return %y
})";

TEST(Rows, OfOneSlowOp) {
  ExpectRightAhead(kPowers, Ahead::kReduces, 1, Behind::kNothing);
  ExpectRightAhead(R"(
graph @g(%x: i64[R, C + 127]) where R in [0, 24] {
  %m = reduce_max %x {axes = [1], keep_dims = 1}
  %y = mod %x, %m
  return %y
})",
                   Ahead::kReduces, 1, Behind::kNothing);
}

// One stage uses the logarithm of the sum per element, the other stores it and is done.
TEST(Rows, EndInLogarithms) {
  const std::string sum = R"(
graph @g(%x: f32[R, C + 127]) where R in [0, 24] {
  %m = reduce_max %x {axes = [1], keep_dims = 1}
  %d = sub %x, %m
  %e = exp %d
  %s = reduce_sum %e {axes = [1], keep_dims = 1}
  %l = log %s
)";
  ExpectRightAhead(sum + "  %y = sub %d, %l\n  return %y\n}");
  ExpectRightAhead(sum + "  %y = add %m, %l\n  return %y\n}", Ahead::kReduces, 1, Behind::kNothing);
}

// What the first stage computes is kept in row buffers, of which each row in flight has a set, or in an output.
TEST(Rows, KeepWhatTheFirstStageComputes) {
  for (const char* dtype : {"f32", "f64", "bf16"}) {
    ExpectRightAhead(Softmax(absl::StrCat("%x: ", dtype, "[R, C + 127]"), "  %z = tanh %x\n"), Ahead::kKeeps);
  }
  ExpectRightAhead(Softmax("%x: f32[R, C]", "  %z = tanh %x\n"), Ahead::kKeeps);
  const std::string output = Softmax("%x: f32[R, C + 127]", "  %z = tanh %x\n");
  ExpectRightAhead(absl::StrReplaceAll(output, {{"return %y", "return %y, %z"}}));
}

// Row buffers of several widths, and two results of the first stage.
TEST(Rows, KeepSeveralValues) {
  ExpectRightAhead(R"(
graph @g(%x: f16[R, C + 127], %k: f32[C + 127]) where R in [0, 24] {
  %t = tanh %x
  %c = cast %x {dtype = f32}
  %w = mul %c, %k
  %a = exp %w
  %m = reduce_max %t {axes = [1], keep_dims = 1}
  %n = reduce_sum %a {axes = [1], keep_dims = 1}
  %d = sub %t, %m
  %e = exp %d
  %f = div %a, %n
  %s = reduce_sum %e {axes = [1], keep_dims = 1}
  %q = div %e, %s
  %r = cast %q {dtype = f32}
  %y = mul %r, %f
  return %y, %m
})",
                   Ahead::kKeeps, 2);
}

// Several reductions of the first stage, of several types, wait for the row's turn.
TEST(Rows, LeaveSeveralResults) {
  ExpectRightAhead(R"(
graph @g(%x: f32[R, C + 127], %i: i64[R, C + 127], %h: f16[R, C + 127]) where R in [0, 24] {
  %m = reduce_max %x {axes = [1], keep_dims = 1}
  %l = reduce_min %x {axes = [1], keep_dims = 1}
  %n = reduce_sum %i {axes = [1], keep_dims = 1}
  %v = reduce_mean %h {axes = [1], keep_dims = 1}
  %c = cast %n {dtype = f32}
  %w = cast %v {dtype = f32}
  %t = tanh %c
  %d = sub %x, %m
  %o = sub %x, %l
  %p = mul %d, %o
  %a = add %p, %w
  %b = mul %a, %t
  %e = tanh %b
  %s = reduce_sum %e {axes = [1], keep_dims = 1}
  %y = mul %e, %s
  return %y
})");
}

// Stages without loops lie between, which store what they make of a row.
TEST(Rows, WithStagesOfOneValueBetween) {
  ExpectRightAhead(R"(
graph @g(%x: f32[R, C + 127]) where R in [0, 24] {
  %u = reduce_mean %x {axes = [1], keep_dims = 1}
  %d = sub %x, %u
  %t = tanh %d
  %q = mul %t, %t
  %v = reduce_mean %q {axes = [1], keep_dims = 1}
  %w = rsqrt %v
  %y = mul %t, %w
  return %y, %u, %v
})",
                   Ahead::kReduces, 2);
  ExpectRightAhead(R"(
graph @g(%x: f32[R, C + 127]) where R in [0, 24] {
  %u = reduce_sum %x {axes = [1], keep_dims = 1}
  %v = exp %u
  %t = tanh %v
  %z = mul %x, %t
  %y = exp %z
  return %y, %t
})",
                   Ahead::kReduces, 2, Behind::kNothing);
}

TEST(Rows, OfSeveralReductionsInTurn) {
  ExpectRightAhead(R"(
graph @g(%x: f32[R, C + 127]) where R in [0, 24] {
  %a = reduce_sum %x {axes = [1], keep_dims = 1}
  %b = sub %x, %a
  %c = tanh %b
  %d = reduce_max %c {axes = [1], keep_dims = 1}
  %e = sub %c, %d
  %f = exp %e
  %g = reduce_sum %f {axes = [1], keep_dims = 1}
  %h = div %f, %g
  %i = reduce_sum %h {axes = [1], keep_dims = 1}
  %y = sub %h, %i
  return %y, %d
})");
}

// The loop over the outer axis of a row, H, takes both rows along.
TEST(Rows, OfTwoAxes) {
  const std::string inputs = "%x: f32[R, H, C + 30], %k: f32[C + 30]";
  ExpectRightAhead(Softmax(inputs, "  %z = mul %x, %k\n", "[1, 2]"));
  ExpectRightAhead(Softmax(inputs, "  %w = mul %x, %k\n  %z = tanh %w\n", "[1, 2]"), Ahead::kKeeps);
  ExpectRightAhead(Softmax("%x: f32[R, C + 30, H], %k: f32[H]", "  %z = mul %x, %k\n", "[1, 2]"));
}

// The results of a row lie where it was, beside what the next one is read from.
TEST(Rows, WriteOverTheirInputs) {
  const std::string kept = "  %z = tanh %x\n";
  for (const std::string& text : {std::string(kPowers), Softmax("%z: f32[R, C + 127]", ""),
                                  Softmax("%x: f64[R, C + 127]", kept), Softmax("%x: f32[A, R, C]", kept, "[0, 2]")}) {
    ExpectRightOn(*DonatingCpuDevice(), text);
  }
}

// One task, and values that depend on no axis.
TEST(Rows, OfWholeTensors) {
  ExpectRightAhead(Softmax("%x: f32[R, C + 20]", "  %z = tanh %x\n", "[0, 1]"), Ahead::kKeeps);
  const std::string sum = R"(
graph @g(%x: f32[R, C + 20], %k: f32[], %l: f32[]) where R in [0, 24] {
  %m = reduce_max %x {axes = [0, 1]}
  %n = mul %m, %k
  %d = sub %x, %n
  %e = exp %d
  %s = reduce_sum %e {axes = [0, 1]}
  %t = mul %s, %k
  %y = add %t, %l
)";
  ExpectRightAhead(sum + "  return %y\n}", Ahead::kReduces, 1, Behind::kNothing);
  ExpectRightAhead(sum + "  %z = div %e, %t\n  return %z, %y, %n\n}", Ahead::kReduces, 2);
}

TEST(Rows, OfSeveralBatches) {
  ExpectRightAhead(Softmax("%x: f32[A, B, R, C + 127], %k: f32[B, 1, C + 127]", "  %z = mul %x, %k\n", "[3]"));
  ExpectRightAhead(Softmax("%x: f32[R, A, C + 127]", "  %z = transpose %x {permutation = [1, 0, 2]}\n", "[2]"));
}

TEST(Rows, OfMaskedElements) {
  const std::string body = "  %v = constant -inf : f32[]\n  %z = select %k, %x, %v\n";
  ExpectRightAhead(Softmax("%x: f32[B, R, C + 127], %k: bool[B, 1, C + 127]", body, "[2]"));
}

// Loads with predicates, in vectors that lie on both sides of an edge.
TEST(Rows, OfPartsOfTensors) {
  const std::string padded = "  %v = constant -3 : f32[]\n  %z = pad %x, %v {low = [1, 5], high = [2, 20]}\n";
  ExpectRightAhead(Softmax("%x: f32[R, C + 110]", padded));
  ExpectRightAhead(Softmax("%x: f32[R, C + 100], %w: f32[R, D + 20]", "  %z = concat %x, %w {axis = 1}\n"));
  const std::string stepped = "  %z = slice %x {starts = [0, 1], sizes = [R, C + 127], steps = [1, 2]}\n";
  ExpectRightAhead(Softmax("%x: f32[R, 2*C + 254]", stepped));
  const std::string backwards = "  %z = slice %x {starts = [R - 1, C + 126], sizes = [R, C + 127], steps = [-1, -1]}\n";
  ExpectRightAhead(Softmax("%x: f32[R, C + 127]", backwards));
}

TEST(Rows, OfGatheredElements) {
  ExpectRightAhead(Softmax("%x: f32[N, C + 127], %i: i64[R]", "  %z = gather %x, %i {axis = 0}\n"));
  ExpectRightAhead(Softmax("%x: f32[N], %i: i64[R, C + 127]", "  %z = gather %x, %i {axis = 0}\n"));
}

TEST(Rows, BesideWhatMayBroadcast) {
  ExpectRightAhead(Softmax("%x: f32[R, C + 127], %k: f32[P, Q]", "  %z = add %x, %k\n"));
}

}  // namespace
}  // namespace tailor
