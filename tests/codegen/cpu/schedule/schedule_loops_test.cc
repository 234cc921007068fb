#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/cpu/loops/emit_loops.h"
#include "codegen/cpu/schedule/schedule_loops.h"
#include "codegen/lower/lower_graph.h"
#include "gmock/gmock.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

namespace tailor::cpu {
namespace {

// Schedules of a graph's kernels, on a machine with 64-byte vectors unless stated.
std::string Schedules(const std::string& text, const TargetTraits& traits = {}) {
  auto parsed = ParseGraph(text);
  if (!parsed.ok()) return parsed.status().ToString();
  auto lowered = lower::LowerGraph(*parsed, traits);
  if (!lowered.ok()) return lowered.status().ToString();
  std::string out = "\n";
  for (const KernelPlan& kernel : lowered->kernels) out += ScheduleLoops(kernel, traits).Text() + "\n";
  return out;
}

// The IR of a graph's kernels for that machine, `block_rows` of whose rows are in cache if that is not 0.
std::string Emitted(const std::string& text, int64_t block_rows = 0) {
  const auto lowered = lower::LowerGraph(*ParseGraph(text), TargetTraits{});
  llvm::LLVMContext context;
  llvm::Module module("kernels", context);
  int number = 0;
  for (const KernelPlan& kernel : lowered->kernels) {
    Schedule schedule = ScheduleLoops(kernel, TargetTraits{});
    schedule.block_rows = block_rows;
    EXPECT_TRUE(EmitLoops(kernel, schedule, {}, absl::StrCat("k", number++), module).ok());
  }
  std::string out;
  llvm::raw_string_ostream stream(out);
  module.print(stream, nullptr);
  return out;
}

TEST(ScheduleLoops, OnlyWhatIsScatteredIsGathered) {
  const auto gathers = [](const std::string& text) { return absl::StrContains(Emitted(text), "llvm.masked.gather"); };
  EXPECT_FALSE(gathers("graph @g(%x: f32[R, C]) { %y = transpose %x {permutation = [1, 0]}\n return %y }"));
  EXPECT_FALSE(gathers("graph @g(%x: f32[R, C], %y: f32[P, Q]) { %z = add %x, %y\n return %z }"));
  for (int step : {2, 3, 4, 5}) {
    const std::string slice = absl::StrCat("graph @g(%x: f32[", step,
                                           "*C]) { %y = slice %x {starts = [0], sizes = [C], "
                                           "steps = [",
                                           step, "]}\n return %y }");
    EXPECT_EQ(gathers(slice), step == 5) << step;
  }
  EXPECT_TRUE(gathers("graph @g(%x: f32[C], %i: i64[N]) { %y = gather %x, %i {axis = 0}\n return %y }"));
}

// Lanes along the dim of size 1 would leave all but one idle (the last step of a bilinear resize).
TEST(ScheduleLoops, GathersAreTakenRatherThanIdleLanes) {
  const std::string text = Schedules(R"(
graph @g(%x: f32[1, 21, 320, 40], %i: i64[320], %j: i64[320], %u: f32[320], %v: f32[320]) {
  %a = gather %x, %i {axis = 3}
  %b = gather %x, %j {axis = 3}
  %c = mul %a, %u
  %d = mul %b, %v
  %y = add %c, %d
  return %y
})");
  EXPECT_TRUE(absl::StrContains(text, "lane_axis 2")) << text;
}

// Pools of neighbours that do not overlap: lanes along the windows, not within one of fewer elements than lanes.
TEST(ScheduleLoops, LanesOfPoolsRunAlongTheirResults) {
  for (const int size : {2, 3, 4}) {
    const std::string text = Schedules(absl::StrCat(R"(
graph @pool(%x: f32[N, H, 257]) {
  %w = window %x {axes = [2], sizes = [)",
                                                    size, "], strides = [", size, R"(]}
  %y = reduce_max %w {axes = [3]}
  return %y
})"));
    EXPECT_TRUE(absl::StrContains(text, "lane_axis 1")) << text;
  }
}

TEST(ScheduleLoops, RepeatedRowsAreLoadedAsRunsWhereTheyDoNotBeginAnew) {
  const std::string ir = Emitted(R"(
graph @g(%x: f32[R, C]) {
  %v = reshape %x {shape = [R, 1, C]}
  %b = broadcast %v {shape = [R, 5, C]}
  %y = reshape %b {shape = [R, 5*C]}
  return %y
})");
  EXPECT_TRUE(absl::StrContains(ir, "is.run"));
  EXPECT_TRUE(absl::StrContains(ir, "load <16 x float>"));
}

TEST(ScheduleLoops, ElementwiseRunsOverOneCollapsedAxisInChunks) {
  EXPECT_EQ(Schedules(R"(
graph @g(%x: f32[B, S, 384], %y: f32[B, S, 384]) {
  %z = add %x, %y
  return %z
}
)"),
            R"(
{lanes 16, lane_axis 0, lane_chunk 4096, unroll 4, tasks floordiv(d0 + 4095, 4096), tasks_per_chunk max(floordiv(40000, max(min(d0, 4096), 1)), 1), versions [
  {guards [1536*d1*d2 bytes outgrow the cache, d0 >= 4096], streams},
  {}]}
)");
}

// 8 x 20 x 384 elements fit every cache.
TEST(ScheduleLoops, SmallRangesLeaveVersionsOut) {
  const auto versions = [](const std::string& most) {
    return Schedules("graph @g(%x: f32[B, S, 384]) where B in [1, " + most +
                     "], S in [1, 20] { %z = neg %x\n return %z }");
  };
  EXPECT_EQ(versions("8"), R"(
{lanes 16, lane_axis 0, lane_chunk 4096, unroll 4, tasks floordiv(d0 + 4095, 4096), tasks_per_chunk max(floordiv(53333, max(min(d0, 4096), 1)), 1)}
)");
  EXPECT_NE(versions("300").find("outgrow the cache"), std::string::npos);
}

TEST(ScheduleLoops, NoLanesRunAlongOrderedAxes) {
  EXPECT_EQ(Schedules(R"(
graph @g(%x: f32[V], %i: i32[N, 1], %u: f32[N]) {
  %s = scatter %x, %i, %u {combiner = "add"}
  return %s
}
)"),
            R"(
{lanes 16, lane_axis 0, lane_chunk 4096, unroll 4, tasks floordiv(d0 + 4095, 4096), tasks_per_chunk max(floordiv(80000, max(min(d0, 4096), 1)), 1), versions [
  {guards [4*d0 bytes outgrow the cache, d0 >= 4096], streams},
  {}]}
{unroll 4, tasks 1, tasks_per_chunk max(floordiv(2000, max(d0, 1)), 1)}
)");
}

TEST(ScheduleLoops, RowKernelVectorizesWithinRowsAndNeedsScratch) {
  EXPECT_EQ(Schedules(R"(
graph @g(%x: f64[R, C]) where C in [0, 4000] {
  %m = reduce_max %x {axes = [1], keep_dims = 1}
  %d = sub %x, %m
  %e = exp %d
  %s = reduce_sum %e {axes = [1], keep_dims = 1}
  %y = div %e, %s
  return %y
}
)"),
            R"(
{lanes 8, lane_axis 1, unroll 2, interleaved_rows 4, max_interleaved_elements 128, overlap_stage 1, defer_last_stage, tasks d0, tasks_per_chunk max(max(4*floordiv(666, max(d1, 1)), min(floordiv(d0, 16), 8)), 1), scratch_bytes max(64*floordiv(d1 + 7, 8) + min(64*floordiv(d1 + 7, 8), 8388608), min(256*floordiv(d1 + 7, 8), 4096))}
)");
}

TEST(ScheduleLoops, FewLongRowsAreTakenInParts) {
  const auto sum = [](const std::string& rows, const std::string& columns) {
    return Schedules("graph @g(%x: f32[R, C]) where R in " + rows + ", C in " + columns +
                     " { %s = reduce_sum %x {axes = [1]}\n return %s }");
  };
  EXPECT_TRUE(absl::StrContains(sum("[0, 1000]", "[0, 400000]"), "parts {count "));
  EXPECT_FALSE(absl::StrContains(sum("[0, 1000]", "[0, 4000]"), "parts"));
  EXPECT_FALSE(absl::StrContains(sum("[1000, 1000]", "[0, 400000]"), "parts"));
  EXPECT_FALSE(
      absl::StrContains(Schedules("graph @g(%x: f32[R, 0]) { %s = reduce_sum %x {axes = [0]}\n return %s }"), "parts"));
}

TEST(ScheduleLoops, RowsShorterThanAVectorAreTransposed) {
  const auto softmax = [](const std::string& input, const std::string& prologue = "") {
    return "graph @g(" + input + ") {\n" + prologue +
           "%m = reduce_max %z {axes = [-1], keep_dims = 1}\n%d = sub %z, %m\n%e = exp %d\n"
           "%s = reduce_sum %e {axes = [-1], keep_dims = 1}\n%y = div %e, %s\nreturn %y }";
  };
  EXPECT_THAT(Schedules(softmax("%z: f32[R, C]")), testing::HasSubstr("{guards [d1 <= 15], short_rows}"));
  EXPECT_THAT(Schedules(softmax("%z: f32[R, 5]")), testing::HasSubstr("versions [\n  {short_rows}]"));
  EXPECT_THAT(Schedules(softmax("%z: f32[R, C]", ""), {.pack_short_rows = false}),
              testing::Not(testing::HasSubstr("short_rows")));
  for (const std::string& other : {softmax("%z: f32[R, 16]"), softmax("%z: f64[R, C]"),
                                   softmax("%x: f32[C, R]", "%z = transpose %x {perm = [1, 0]}\n")}) {
    EXPECT_THAT(Schedules(other), testing::Not(testing::HasSubstr("short_rows"))) << other;
  }
  // A few elements that are only read are loaded by shuffles.
  const auto sum = [](const std::string& length) {
    return Schedules("graph @g(%x: f32[R, " + length + "]) { %s = reduce_sum %x {axes = [1]}\n return %s }");
  };
  EXPECT_THAT(sum("5"), testing::HasSubstr("short_rows"));
  EXPECT_THAT(sum("3"), testing::Not(testing::HasSubstr("short_rows")));
}

TEST(ScheduleLoops, LikelyLengthsOfRowsHaveVersions) {
  const auto sum = [](const std::string& symbols) {
    return Schedules("graph @g(%x: f32[R, C]) where R in [1, 9] likely [2], C in [0, 4000]" + symbols +
                     " { %s = reduce_sum %x {axes = [1]}\n return %s }");
  };
  EXPECT_THAT(
      sum(" likely [32, 20]"),
      testing::HasSubstr("  {guards [d1 == 20]},\n  {guards [d1 == 32]},\n  {guards [d1 <= 15], short_rows},\n  {}"));
  // Shorter than a vector, and longer than two.
  EXPECT_THAT(sum(" likely [8, 33]"), testing::Not(testing::HasSubstr("==")));
  EXPECT_THAT(sum(""), testing::Not(testing::HasSubstr("==")));
}

TEST(ScheduleLoops, LongerRowsRunSideBySideWhereElementsAreCheap) {
  const std::string schedule = Schedules(R"(
graph @g(%x: f32[R, C]) {
  %s = reduce_sum %x {axes = [1], keep_dims = 1}
  return %s
}
)");
  EXPECT_TRUE(absl::StrContains(schedule, "interleaved_rows 4, max_interleaved_elements 2048, tasks")) << schedule;
}

// On 16 registers, too, with as many partial results of each sum.
TEST(ScheduleLoops, ShortRowsLookAheadWhereElementsAreCheap) {
  const std::string norm = R"(
graph @g(%x: f32[R, C]) {
  %q = mul %x, %x
  %s = reduce_sum %q {axes = [1], keep_dims = 1}
  %r = rsqrt %s
  %y = mul %x, %r
  return %y
}
)";
  const std::string ahead = "max_interleaved_elements 128, overlap_stage 1, max_overlap_elements 2048, tasks";
  EXPECT_TRUE(absl::StrContains(Schedules(norm), "unroll 4, interleaved_rows 4, " + ahead)) << Schedules(norm);
  const std::string few_registers = Schedules(norm, {.vector_bytes = 32, .vector_registers = 16});
  EXPECT_TRUE(absl::StrContains(few_registers, "unroll 4, interleaved_rows 3, " + ahead)) << few_registers;
}

TEST(ScheduleLoops, RowsLookAheadInLaunchesThatCachesHold) {
  const std::string powers = R"(
graph @g(%x: f32[R, C]) {
  %m = reduce_max %x {axes = [1], keep_dims = 1}
  %d = sub %x, %m
  %e = exp %d
  return %e
}
)";
  const std::string ir = Emitted(powers);
  EXPECT_FALSE(absl::StrContains(ir, "= mul i64 24, "));
  EXPECT_THAT(Emitted(powers, 24), testing::ContainsRegex("%elements[0-9]+ = mul i64 24, %elements"));
  EXPECT_THAT(ir, testing::ContainsRegex("%is_near = icmp sle i64 %[a-z0-9.]+, 1048576"));
  EXPECT_THAT(ir, testing::ContainsRegex("%in_flight = and i1 %is_near, %several"));
}

TEST(ScheduleLoops, LoadsAcrossTheLanesAreTransposedInSquares) {
  EXPECT_EQ(Schedules(R"(
graph @g(%x: f32[B, R, C], %b: f32[R]) {
  %t = transpose %x {permutation = [0, 2, 1]}
  %y = add %t, %b
  return %y
}
)"),
            R"(
{lanes 16, lane_axis 2, lane_chunk 64, cross_axis 1, cross_chunk 64, unroll 16, tasks d0*floordiv(d1 + 63, 64)*floordiv(d2 + 63, 64), tasks_per_chunk max(floordiv(16000, max(min(d1, 64)*min(d2, 64), 1)), 1)}
)");
}

// Too few elements along one axis, what no load runs along, and more loads than registers hold.
TEST(ScheduleLoops, OtherLoadsAreGathered) {
  for (const char* body : {"graph @g(%x: f32[R, 3]) {\n  %y = transpose %x {permutation = [1, 0]}\n  return %y\n}",
                           "graph @g(%x: f32[1, C]) {\n  %y = transpose %x {permutation = [1, 0]}\n  return %y\n}",
                           "graph @g(%x: f32[R, 2*C]) {\n  %y = slice %x {starts = [0, 0], sizes = [R, C], "
                           "steps = [1, 2]}\n  return %y\n}",
                           "graph @g(%x: f32[R, C], %w: f32[R, C], %v: f32[R, C], %z: f32[C, R]) {\n"
                           "  %a = transpose %x {permutation = [1, 0]}\n  %b = transpose %w {permutation = [1, 0]}\n"
                           "  %c = transpose %v {permutation = [1, 0]}\n  %d = add %a, %b\n  %e = add %d, %c\n"
                           "  %y = add %e, %z\n  return %y\n}"}) {
    EXPECT_EQ(Schedules(body).find("cross_axis"), std::string::npos) << body;
  }
}

TEST(ScheduleLoops, OuterReductionRunsLanesAcrossRows) {
  EXPECT_EQ(Schedules(R"(
graph @g(%x: f32[R, C]) where R in [0, 500] {
  %y = reduce_sum %x {axes = [0]}
  return %y
}
)"),
            R"(
{lanes 16, lane_axis 0, lane_chunk 256, unroll 4, interleaved_rows 16, tasks floordiv(d0 + 255, 256), tasks_per_chunk max(floordiv(53333, max(d1*min(d0, 256), 1)), 1)}
)");
}

TEST(ScheduleLoops, ColumnsAreSummedSideBySideInFewRegistersToo) {
  const auto lowered = lower::LowerGraph(
      *ParseGraph("graph @g(%x: f32[R, C]) { %y = reduce_sum %x {axes = [0]}\n return %y }"), TargetTraits{});
  TargetTraits few;
  few.vector_registers = 16;
  EXPECT_EQ(ScheduleLoops(lowered->kernels[0], few).interleaved_rows, 16);
}

// Of rows of two vectors one pass reads both.
TEST(ScheduleLoops, TwoVectorsOfColumnsAreReadInOnePass) {
  const std::string ir = Emitted("graph @g(%x: f32[R, C]) { %y = reduce_sum %x {axes = [0]}\n return %y }");
  for (const char* last : {"255", "63", "31", "15"}) {
    EXPECT_THAT(ir, ::testing::ContainsRegex(absl::StrCat("full.end[0-9]* = sub i64 %end[0-9]*, ", last)));
  }
}

TEST(ScheduleLoops, AScanRunsLanesAlongWhatIsContiguous) {
  EXPECT_EQ(Schedules(R"(
graph @g(%x: f32[R, C]) {
  %y = scan %x {axis = 0, combiner = "add"}
  return %y
}
)"),
            R"(
{lanes 16, lane_axis 0, lane_chunk 128, unroll 4, interleaved_rows 8, tasks floordiv(d0 + 127, 128), tasks_per_chunk max(floordiv(53333, max(d1*min(d0, 128), 1)), 1)}
)");
  EXPECT_EQ(Schedules(R"(
graph @g(%x: f32[R, C]) {
  %y = scan %x {axis = 1, combiner = "add", reverse = 1}
  return %y
}
)"),
            R"(
{lanes 16, lane_axis 1, unroll 4, tasks d0, tasks_per_chunk max(floordiv(53333, max(d1, 1)), 1)}
)");
}

TEST(ScheduleLoops, UnprovedBroadcastGetsAVersionWithoutIt) {
  EXPECT_EQ(Schedules(R"(
graph @g(%x: f32[R, C], %y: f32[T, C]) {
  %z = mul %x, %y
  return %z
}
)"),
            R"(
{lanes 16, lane_axis 1, lane_chunk 4096, unroll 4, tasks d0*floordiv(d1 + 4095, 4096), tasks_per_chunk max(floordiv(40000, max(min(d1, 4096), 1)), 1), versions [
  {guards [d2 >= 2, d3 >= 2, 4*d0*d1 bytes outgrow the cache, d1 >= 4096], no_broadcast, streams},
  {guards [d2 >= 2, d3 >= 2], no_broadcast},
  {}]}
)");
}

// What no machine's caches could fail to hold, what is written in short runs, and what two outputs share.
TEST(ScheduleLoops, OnlyLongRunsOfOneLargeOutputAreStreamed) {
  for (const char* body : {"graph @g(%x: f32[N, 0]) {\n  %y = neg %x\n  return %y\n}",
                           "graph @g(%x: f32[262143]) {\n  %y = neg %x\n  return %y\n}",
                           "graph @g(%x: f32[N, 384], %b: f32[384]) {\n  %y = add %x, %b\n  return %y\n}",
                           "graph @g(%x: f32[N]) {\n  %y = neg %x\n  %z = exp %y\n  return %y, %z\n}",
                           "graph @g(%x: f32[N, M]) {\n  %y = reduce_sum %x {axes = [0]}\n  return %y\n}"}) {
    EXPECT_EQ(Schedules(body).find("outgrow"), std::string::npos) << body;
  }
}

}  // namespace
}  // namespace tailor::cpu
