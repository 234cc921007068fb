// Mirrors codegen/cpu/schedule/schedule_contraction.cc.
#include "codegen/cpu/schedule/schedule_contraction.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/lower/lower_graph.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/schedule_fields.h"
#include "codegen/plan/verify_schedule.h"
#include "gmock/gmock.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/codegen/cpu/gemm/gemm_case.h"

namespace tailor::cpu {
namespace {

Schedule ScheduleOf(const MatmulCaseForm& form, const char* target) {
  return ScheduleContraction(MakeMatmulPlan(form), FindCpuTarget(target)->traits);
}

std::string ScheduleText(const MatmulCaseForm& form, const char* target) {
  return "\n" + ScheduleOf(form, target).Text() + "\n";
}

TEST(ScheduleContraction, DynamicMatmul) {
  EXPECT_EQ(ScheduleText({}, "x86-64-v4"), R"(
{lanes 16, lane_axis 1, tile {task_rows 48, task_panels 4, chooses, tilings [
  {rows 6, panels 4, task_panels 2},
  {rows 6, panels 4, task_rows 24},
  {rows 6, panels 4, whole_rows, task_panels 2}]}, tasks floordiv(d0 + 47, 48)*floordiv(d1 + 63, 64), tasks_per_chunk max(floordiv(524288, d2*min(d0, 48)*min(d1, 64) + 8*d2*min(d1, 64) + 1), 1)}
)");
}

TEST(ScheduleContraction, TallTilesForLargeWeights) {
  const auto tile = [](const MatmulCaseForm& form, const char* target) {
    ContractionTile all = ScheduleOf(form, target).tile;
    all.tilings.clear();
    return RecordText(all);
  };
  EXPECT_EQ(tile({.n = 512, .k = 512}, "x86-64-v4"),
            "{tall_rows 9, tall_panels 3, task_rows 48, task_panels 4, chooses}");
  EXPECT_EQ(tile({.n = 512, .k = 511}, "x86-64-v4"), "{task_rows 48, task_panels 4, chooses}");
  EXPECT_EQ(tile({.k = 4096}, "x86-64-v4"), "{task_rows 48, task_panels 4, chooses}");
  EXPECT_EQ(tile({.n = 512, .k = 512}, "x86-64-v3"), "{panels 1, task_rows 48, task_panels 4, chooses}");
}

TEST(ScheduleContraction, ManyRowsOfColumnsWhereDepthIsShort) {
  const auto task = [](int64_t k) {
    return RecordText(ScheduleOf({.n = 64, .k = k, .transpose_out = true}, "x86-64-v4").tile);
  };
  EXPECT_EQ(task(576), "{task_rows 240, task_panels 4}");  // 3 x 3 points of 64 channels
  EXPECT_EQ(task(641), "{task_panels 4}");
}

// A task of 48 rows would read all weights twice for a plane of 7 x 7, and five times for 14 x 14.
TEST(ScheduleContraction, WindowsOfPaddedImagesHaveManyRows) {
  const auto graph = ParseGraph(R"(graph @g(%x: f32[N, H, W, 32]) {
  %zero = constant 0 : f32[]
  %w = constant @w : f32[1, 800, 48]
  %p = pad %x, %zero {low = [0, 2, 2, 0], high = [0, 2, 2, 0]}
  %t = window %p {axes = [1, 2], sizes = [5, 5], strides = [2, 2]}
  %m = transpose %t {permutation = [0, 1, 2, 4, 5, 3]}
  %r = reshape %m {shape = [N, 1, floordiv(H + 1, 2)*floordiv(W + 1, 2), 800]}
  %d = dot %r, %w
  return %d
})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto lowered = lower::LowerGraph(*graph, {});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const Schedule schedule = ScheduleContraction(lowered->kernels[0], FindCpuTarget("x86-64-v4")->traits);
  EXPECT_EQ(schedule.lane_axis, ContractionOf(lowered->kernels[0]).n);
  EXPECT_EQ(schedule.tile.task_rows, 96);
}

// The first layer of an image model, with results of height x width: 3 x 3 windows of `channels` channels, stride two.
KernelPlan FirstLayer(int channels, int filters, int height, int width, bool channels_first = false) {
  const auto graph = ParseGraph(absl::StrReplaceAll(
      R"(graph @g(%x: f32[N, CHANNELS, HEIGHT, WIDTH]) {
  %zero = constant 0 : f32[]
  %w = constant @w : f32[1, DEPTH, FILTERS]
  %p = pad %x, %zero {low = [0, 0, 1, 1], high = [0, 0, 1, 1]}
  %t = window %p {axes = [2, 3], sizes = [3, 3], strides = [2, 2]}
  %m = transpose %t {permutation = [0, 2, 3, 1, 4, 5]}
  %r = reshape %m {shape = [N, 1, ROWS, DEPTH]}
  %d = dot %r, %w
  %o = transpose %d {permutation = [ORDER]}
  return %o
})",
      {{"CHANNELS", absl::StrCat(channels)},
       {"DEPTH", absl::StrCat(9 * channels)},
       {"FILTERS", absl::StrCat(filters)},
       {"HEIGHT", absl::StrCat(2 * height)},
       {"WIDTH", absl::StrCat(2 * width)},
       {"ROWS", absl::StrCat(height * width)},
       {"ORDER", channels_first ? "0, 1, 3, 2" : "0, 1, 2, 3"}}));
  EXPECT_TRUE(graph.ok()) << graph.status();
  auto lowered = lower::LowerGraph(*graph, {});
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  return std::move(lowered->kernels[0]);
}

Schedule ScheduleOfFirstLayer(int channels, int filters, int height, int width, bool channels_first = false) {
  return ScheduleContraction(FirstLayer(channels, filters, height, width, channels_first),
                             FindCpuTarget("x86-64-v4")->traits);
}

// Two tasks that share a line of an image both stage it.
TEST(ScheduleContraction, TasksOfStagedWindowsAreWholeLines) {
  const auto blocks = [](int height, int width) {
    return *ScheduleOfFirstLayer(3, 16, height, width).row_blocks.Evaluate({1}, /*workers=*/1);
  };
  EXPECT_EQ(ScheduleOfFirstLayer(3, 16, 112, 112).tile.task_rows, 240);
  EXPECT_EQ(blocks(112, 112), 56);  // of two lines; 53 would be enough for 240 rows each
  EXPECT_EQ(blocks(56, 56), 14);    // of four lines
  EXPECT_EQ(blocks(7, 7), 1);
  EXPECT_EQ(blocks(10, 300), 13);  // lines are longer than tasks
}

// Where few columns share what is staged, filling takes as long as multiplying: L1 holds it.
TEST(ScheduleContraction, EverySecondColumnIsStagedInL1) {
  const auto rows = [](int channels, int filters) {
    const Schedule schedule = ScheduleOfFirstLayer(channels, filters, 64, 64, /*channels_first=*/true);
    EXPECT_TRUE(schedule.tile.rows_in_lanes) << channels << " channels, " << filters << " filters";
    return schedule.tile.task_rows;
  };
  EXPECT_EQ(rows(3, 24), 240);
  EXPECT_EQ(rows(8, 8), 96);
  EXPECT_EQ(rows(6, 24), 126);  // whole tiles of six rows
  EXPECT_EQ(rows(64, 8), 48);
}

// Where K exceeds one part, parts are equal, and a staging buffer serves 8 panels.
TEST(ScheduleContraction, WindowsOfManyChannelsRunInEqualParts) {
  const auto tile = [](int channels) {
    const auto graph =
        ParseGraph(absl::StrReplaceAll(R"(graph @g(%x: f32[N, CHANNELS, H, W]) {
  %zero = constant 0 : f32[]
  %w = constant @w : f32[1, DEPTH, 256]
  %p = pad %x, %zero {low = [0, 0, 1, 1], high = [0, 0, 1, 1]}
  %t = window %p {axes = [2, 3], sizes = [3, 3], strides = [2, 2]}
  %m = transpose %t {permutation = [0, 2, 3, 1, 4, 5]}
  %r = reshape %m {shape = [N, 1, floordiv(H + 1, 2)*floordiv(W + 1, 2), DEPTH]}
  %d = dot %r, %w
  return %d
})",
                                       {{"CHANNELS", absl::StrCat(channels)}, {"DEPTH", absl::StrCat(9 * channels)}}));
    EXPECT_TRUE(graph.ok()) << graph.status();
    const auto lowered = lower::LowerGraph(*graph, {});
    EXPECT_TRUE(lowered.ok()) << lowered.status();
    const ContractionTile& tile = ScheduleContraction(lowered->kernels[0], FindCpuTarget("x86-64-v4")->traits).tile;
    return absl::StrCat(tile.depth, " steps, ", tile.task_panels, " panels");
  };
  EXPECT_EQ(tile(64), "1024 steps, 16 panels");  // 576 in one part
  EXPECT_EQ(tile(128), "576 steps, 8 panels");   // 2 x 576
  EXPECT_EQ(tile(300), "912 steps, 8 panels");   // 2700 in three parts, of whole vectors
}

// Words of an image are gathered, but those of one with channels last, in whole words, are read in place. Where bytes
// are widened, any rows are copied, once for a task.
TEST(ScheduleContraction, RowsOfBytesAreCopied) {
  constexpr char kFirst[] = R"(  %t = window %x {axes = [2, 3], sizes = [1, 3], strides = [1, 1]}
  %m = transpose %t {permutation = [0, 2, 3, 1, 4, 5]}
  %r = reshape %m {shape = [N, 1, 198, 72]})";
  constexpr char kLast[] = R"(  %t = window %x {axes = [1, 2], sizes = [1, 3], strides = [1, 1]}
  %m = transpose %t {permutation = [0, 1, 2, 4, 5, 3]}
  %r = reshape %m {shape = [N, 1, 168, 72]})";
  const auto copies = [](const std::string& windows, const char* target) {
    const auto graph =
        ParseGraph(absl::StrCat("graph @g(%x: u8[N, 24, 9, 24]) {\n  %w = constant @w : i8[1, 72, 256]\n", windows,
                                "\n  %d = dot %r, %w\n  return %d\n}"));
    EXPECT_TRUE(graph.ok()) << graph.status();
    const auto lowered = lower::LowerGraph(*graph, {});
    EXPECT_TRUE(lowered.ok()) << lowered.status();
    const ContractionTile tile = ScheduleContraction(lowered->kernels[0], FindCpuTarget(target)->traits).tile;
    return absl::StrCat(tile.copies_rows ? "copied" : "in place", tile.split_words ? ", split" : "");
  };
  EXPECT_EQ(copies(kFirst, "x86-64-v4+avx512vnni"), "copied");
  EXPECT_EQ(copies(kLast, "x86-64-v4+avx512vnni"), "in place");
  EXPECT_EQ(copies(kFirst, "x86-64-v3"), "copied, split");
  EXPECT_EQ(copies(kLast, "x86-64-v3"), "copied, split");
}

// A guard asks for rows of which two steps of K lie in different pages.
TEST(ScheduleContraction, RowsFarApartArePacked) {
  const auto versions = [](int64_t m, int64_t n, int64_t k, const char* target = "x86-64-v4") {
    std::string text;
    const MatmulCaseForm form{.m = m, .n = n, .k = k, .transpose_lhs = true, .transpose_out = true};
    for (const Version& version : ScheduleOf(form, target).versions) {
      absl::StrAppend(&text, version.packs_rows ? "packs " : "", VersionText(version), "; ");
    }
    return text;
  };
  EXPECT_EQ(versions(kDynamic, 128, 96), "packs d0 >= 1024; always; ");
  EXPECT_EQ(versions(kDynamic, 128, 96, "x86-64-v3"), "packs d0 >= 256; always; ");
  EXPECT_EQ(versions(kDynamic, 127, 96), "always; ");
  EXPECT_EQ(versions(kDynamic, 128, 95), "always; ");
  EXPECT_EQ(versions(1024, 128, 96), "packs always; ");
  EXPECT_EQ(versions(1023, 128, 96), "always; ");
  const ContractionTile wide =
      ScheduleOf({.n = 128, .k = 96, .transpose_lhs = true, .transpose_out = true}, "x86-64-v4").tile;
  EXPECT_EQ(RecordText(wide), "{task_rows 210, task_panels 8, packed_rows 14, packed_panels 2}");
}

TEST(ScheduleContraction, LongRunsOfFewRowsWhereDepthIsShort) {
  const auto task = [](const MatmulCaseForm& form) {
    const ContractionTile tile = ScheduleOf(form, "x86-64-v4").tile;
    return std::pair(tile.task_rows, tile.task_panels);
  };
  EXPECT_EQ(task({.n = 4096, .k = 11}), std::pair(int64_t{12}, int64_t{186}));
  EXPECT_EQ(task({.n = 4096, .k = 48}), std::pair(int64_t{12}, int64_t{42}));
  EXPECT_EQ(task({.n = 4096, .k = 49}), std::pair(int64_t{48}, int64_t{4}));
  EXPECT_EQ(task({.n = 4096}), std::pair(int64_t{48}, int64_t{4}));
}

// Tiles of up to twelve rows for large weights; for others those that the matmul has anyway, or tasks of other sizes.
TEST(ScheduleContraction, TilingsToChooseAmong) {
  const auto tilings = [](const MatmulCaseForm& form, const char* target) {
    const KernelPlan plan = MakeMatmulPlan(form);
    std::vector<std::string> texts;
    const Schedule schedule = ScheduleContraction(plan, FindCpuTarget(target)->traits);
    for (const MatmulTiling& tiling : schedule.tile.tilings) texts.push_back(TilingText(tiling));
    return texts;
  };
  EXPECT_THAT(tilings({.n = 768, .k = 768}, "x86-64-v4"),
              testing::ElementsAre("whole 12x2 panels, task 48 rows x 4 panels, m in [7, 48]",
                                   "whole 11x2 panels, task 44 rows x 4 panels, m in [7, 44]",
                                   "whole 9x3 panels, task 45 rows x 4 panels, m in [7, 36]"));
  EXPECT_THAT(tilings({.n = 768, .k = 768}, "x86-64-v3"),
              testing::ElementsAre("whole 6x1 panels, task 48 rows x 4 panels"));
  EXPECT_THAT(tilings({.n = 384, .k = 96}, "x86-64-v4"), testing::ElementsAre("6x4 panels, task 48 rows x 2 panels"));
  EXPECT_THAT(tilings({.m = 1, .n = 16, .k = 16}, "x86-64-v4"), testing::IsEmpty());
  EXPECT_THAT(tilings({.dtype = DType::kBF16}, "x86-64-v4"), testing::IsEmpty());
  EXPECT_THAT(tilings({.dtype = DType::kF64}, "x86-64-v4"), testing::IsEmpty());
}

// By the built-in profiles, this matmul keeps tilings of 12, 11 and 9 rows.
TEST(ScheduleContraction, TilingsToChooseAmongOnOneMachine) {
  const KernelPlan plan = MakeMatmulPlan({.n = 768, .k = 768});
  CostProfile costs = BuiltInCostProfile("x86-64-v4");
  costs.Of(8, 3) = {1, 0.01f, 0.01f, 0};
  std::vector<std::string> texts;
  const TargetTraits traits = FindCpuTarget("x86-64-v4")->traits;
  for (const MatmulTiling& tiling : ScheduleContraction(plan, traits, /*in_chain=*/false, &costs).tile.tilings) {
    texts.push_back(TilingText(tiling));
  }
  EXPECT_THAT(texts, testing::ElementsAre("whole 12x2 panels, task 48 rows x 4 panels, m in [7, 48]",
                                          "whole 8x3 panels, task 48 rows x 4 panels, m in [7, 32]"));
}

TEST(ScheduleContraction, MatmulsInF32Choose) {
  const auto chooses = [](const MatmulCaseForm& form) {
    return ScheduleContraction(MakeMatmulPlan(form), FindCpuTarget("x86-64-v4")->traits).tile.chooses;
  };
  EXPECT_TRUE(chooses({.m = 1, .n = 1024, .k = 1024}));  // if only how far to fetch ahead
  EXPECT_FALSE(chooses({.dtype = DType::kBF16}));
  EXPECT_FALSE(chooses({.transpose_out = true}));
}

// Results along rows, as of a 1 x 1 convolution of images.
TEST(ScheduleContraction, FewRowsAreDividedAmongWorkers) {
  const KernelPlan plan = MakeMatmulPlan(
      {.batch = {kDynamic}, .rhs_has_batch = {false}, .n = 64, .k = 512, .transpose_lhs = true, .transpose_out = true});
  const Schedule schedule = ScheduleContraction(plan, FindCpuTarget("x86-64-v4")->traits);
  const auto tasks = [&](int64_t batch, int64_t rows, int64_t workers) {
    EXPECT_GE(*schedule.tasks_per_chunk.Evaluate({batch, rows}, workers), 1);
    return *schedule.tasks.Evaluate({batch, rows}, workers);
  };
  EXPECT_EQ(tasks(1, 196, 1), 1);
  EXPECT_EQ(tasks(1, 196, 2), 5);  // one for each 48 rows that begin
  EXPECT_EQ(tasks(1, 784, 1), 4);
  EXPECT_EQ(tasks(1, 784, 2), 8);
  EXPECT_EQ(tasks(1, 784, 3), 16);
  EXPECT_EQ(tasks(1, 784, 64), 17);
  EXPECT_EQ(tasks(7, 784, 2), 7 * 4);  // enough without
  EXPECT_EQ(tasks(1, 30, 64), 1);
  EXPECT_EQ(tasks(0, 784, 64), 0);
  EXPECT_EQ(tasks(1, 0, 64), 0);
  EXPECT_EQ(ScheduleContraction(MakeMatmulPlan({.n = 512, .k = 512}), FindCpuTarget("x86-64-v4")->traits).row_blocks,
            0);
}

// Memory of a task is for tile.task_rows rows.
TEST(ScheduleContraction, FewerBlocksThanTheRowsNeedAreRejected) {
  const KernelPlan plan = MakeMatmulPlan({.n = 64, .k = 512, .transpose_lhs = true, .transpose_out = true});
  Schedule schedule = ScheduleContraction(plan, FindCpuTarget("x86-64-v4")->traits);
  EXPECT_EQ(VerifySchedule(plan, schedule), absl::OkStatus());
  schedule.row_blocks = schedule.tasks = SlotExpr::Workers();
  EXPECT_THAT(VerifySchedule(plan, schedule).ToString(),
              testing::HasSubstr("row_blocks: is not known to be at least floordiv(d0 + 239, 240)"));
}

TEST(ScheduleContraction, WeightsInDouble) {
  EXPECT_EQ(ScheduleText({.dtype = DType::kF64, .batch = {kDynamic}, .rhs_has_batch = {false}, .n = 384, .k = 768},
                         "x86-64-v3"),
            R"(
{lanes 4, lane_axis 2, tile {rows 2, panels 1, task_rows 48, task_panels 4, depth 512}, tasks 6*d0*floordiv(d1 + 47, 48), tasks_per_chunk max(floordiv(524288, 49152*min(d1, 48) + 393217), 1)}
)");
}

TEST(ScheduleContraction, SmallTasksAreTakenTogether) {
  const KernelPlan plan = MakeMatmulPlan({.batch = {kDynamic, 12}, .rhs_has_batch = {true, true}});
  const Schedule schedule = ScheduleContraction(plan, FindCpuTarget("x86-64-v4")->traits);
  const auto evaluate = [](const SlotExpr& e, std::vector<int64_t> slots) { return *e.Evaluate(slots); };
  EXPECT_EQ(evaluate(schedule.tasks, {4, 8, 8, 32}), 48);
  EXPECT_GE(evaluate(schedule.tasks_per_chunk, {4, 8, 8, 32}), 48);
  EXPECT_EQ(evaluate(schedule.tasks, {4, 256, 256, 32}), 48 * 6 * 4);
  EXPECT_EQ(evaluate(schedule.tasks_per_chunk, {4, 256, 256, 768}), 1);
  EXPECT_EQ(evaluate(schedule.tasks, {0, 8, 8, 32}), 0);
  EXPECT_EQ(evaluate(schedule.tasks, {4, 8, 0, 32}), 0);
}

}  // namespace
}  // namespace tailor::cpu
