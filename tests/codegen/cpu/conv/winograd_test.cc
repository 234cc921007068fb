// Which convolutions lowering gives to Winograd's algorithm, and the tiling of their matmuls.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "codegen/cpu/schedule/schedule_contraction.h"
#include "codegen/link/target_machine.h"
#include "codegen/lower/lower_graph.h"
#include "codegen/plan/parse_kernel_plan.h"
#include "codegen/plan/schedule_fields.h"
#include "codegen/plan/verify_kernel_plan.h"
#include "graph/convolution.h"
#include "graph/text.h"
#include "gtest/gtest.h"

namespace tailor::gemm {
namespace {

const Windows kPadded{.low = {1, 1}, .high = {1, 1}};

struct Form {
  std::string x = "N, 16, H, W";
  std::string weights = "16, 16, 3, 3";
  Windows windows = {};
  int64_t groups = 1;
  std::string dtype = "f32";
  bool constant = true;  // weights
  std::string symbols;   // " where H in [0, 9]"
};

ConstantData Zeros(absl::string_view, const TensorType& type) {
  auto bytes = std::make_shared<std::vector<char>>(*ElementCount(type.shape).constant() * SizeOf(type.dtype));
  return {bytes, bytes->data(), bytes->size(), {}};
}

Graph Made(const Form& form) {
  const std::string weights = absl::StrCat(form.dtype, "[", form.weights, "]");
  const std::string text =
      absl::StrCat("graph @g(%x: ", form.dtype, "[", form.x, "]", form.constant ? "" : ", %w: " + weights, ")",
                   form.symbols, " {\n", form.constant ? "  %w = constant @w : " + weights + "\n" : "", "  return\n}");
  auto graph = ParseGraph(text, Zeros);
  EXPECT_TRUE(graph.ok()) << graph.status() << "\n" << text;
  const auto y = Conv(*graph, {0, 0}, {1, 0}, {}, form.windows, form.groups);
  EXPECT_TRUE(y.ok()) << y.status();
  EXPECT_TRUE(graph->AddOutput("y", *y).ok());
  return *std::move(graph);
}

// The plan of the matmul, the last kernel.
KernelPlan PlanOf(const Form& form, const TargetTraits& traits = {}, const lower::LowerOptions& options = {}) {
  const auto lowered = lower::LowerGraph(Made(form), traits, options);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  return lowered->kernels.back();
}

// The layout in which it reads its weights; none where it is no matmul.
std::optional<ConstantLayout> LayoutOf(const Form& form, const TargetTraits& traits = {},
                                       const lower::LowerOptions& options = {}) {
  for (const Buffer& buffer : PlanOf(form, traits, options).buffers) {
    if (buffer.layout != ConstantLayout::kRowMajor) return buffer.layout;
  }
  return std::nullopt;
}

constexpr ConstantLayout kWinograd = ConstantLayout::kWinogradPanels16, kDirect = ConstantLayout::kPanels16;

TEST(WinogradWindows, ThePlanIsThatOfAnyConvolutionWithStaging) {
  EXPECT_EQ(
      PlanOf({.weights = "20, 16, 3, 3", .windows = kPadded}).Text(),
      R"(contraction axes [a0: d0 parallel, a1: 1 parallel, a2: d1 parallel, a3: 20 parallel, a4: 144 contract, a5: d0 tile, a6: 16 tile, a7: d2 tile, a8: d3 tile]
  m a2, n a3, k a4, fill in stage 0, sum in stage 1
  in b0: f32[d0, 16, d4, d5]
  in b1: f32[1, 144, 20] winograd_panels16
  out b2: f32[d0, 20, d4, d5]
  local b3: f32[]
  staging b4: f32[d0, 16, d2, d3]
  stage over [a5, a6, a7, a8]
    e0 = and(and(and((0 < a7), (a7 < d6)), (0 < a8)), (a8 < d7))
    b4[a5, a6, a7, a8] = select(e0, b0[a5, a6, (a7 - 1), (a8 - 1)] if e0, 0f00000000)
  stage over [a4]
    e1 = (a4 / 3)
    b3[] = reduce add in f32 mul(b4[a0, (e1 / 3), ((a2 / d5) + (e1 % 3)), ((a2 % d5) + (a4 % 3))], b1[0, a4, a3])
  stage over []
    b2[a0, a3, 0, a2] = b3[]
)");
}

TEST(WinogradWindows, PlainWindowsOfThreeByThreeInF32) {
  EXPECT_EQ(LayoutOf({}), kWinograd);
  EXPECT_EQ(LayoutOf({.x = "4, 17, 30, 31", .weights = "300, 17, 3, 3", .windows = kPadded}), kWinograd);
  EXPECT_EQ(LayoutOf({.windows = {.strides = {1, 1}, .dilations = {1, 1}, .low = {0, 5}}}), kWinograd);
}

TEST(WinogradWindows, DilatedWindows) {
  EXPECT_EQ(LayoutOf({.windows = {.dilations = {2, 2}}}), kWinograd);
  EXPECT_EQ(LayoutOf({.windows = {.dilations = {4, 4}, .low = {4, 4}, .high = {4, 4}}}), kWinograd);
  EXPECT_EQ(LayoutOf({.windows = {.dilations = {3, 3}}}), kDirect);
  EXPECT_EQ(LayoutOf({.windows = {.dilations = {8, 8}}}), kDirect);
  EXPECT_EQ(LayoutOf({.windows = {.dilations = {1, 2}}}), kDirect);
  EXPECT_EQ(LayoutOf({.windows = {.dilations = {2, 1}}}), kDirect);
  EXPECT_EQ(LayoutOf({.windows = {.dilations = {2, 4}}}), kDirect);
  // With many channels, larger dilations are a matmul per window element.
  EXPECT_EQ(LayoutOf({.x = "N, 512, H, W",
                      .weights = "16, 512, 3, 3",
                      .windows = {.dilations = {2, 2}, .low = {2, 2}, .high = {2, 2}}}),
            kWinograd);
}

TEST(WinogradWindows, ThePlanStatesTheDilation) {
  const KernelPlan plan = PlanOf({.windows = {.dilations = {4, 4}}});
  EXPECT_TRUE(absl::StrContains(plan.Text(), "sum in stage 1, dilation 4\n")) << plan.Text();
  const auto parsed = ParseKernelPlan(plan.Text());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(std::get<ContractionForm>(parsed->form).dilation, 4);
  KernelPlan other = plan;
  std::get<ContractionForm>(other.form).dilation = 3;
  EXPECT_FALSE(VerifyKernelPlan(other).ok());
}

TEST(WinogradWindows, ThePlanStatesThatChannelsAreLast) {
  auto graph = ParseGraph(R"(
graph @g(%x: f32[N, H, W, 16]) {
  %w = constant @w : f32[16, 16, 3, 3]
  %first = transpose %x {permutation = [0, 3, 1, 2]}
  return
})",
                          Zeros);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto y = Conv(*graph, {2, 0}, {1, 0}, {}, {.dilations = {4, 4}}, 1);
  ASSERT_TRUE(y.ok()) << y.status();
  const auto last = graph->Append(OpKind::kTranspose, {*y}, {{"permutation", std::vector<int64_t>{0, 2, 3, 1}}});
  ASSERT_TRUE(graph->AddOutput("y", {*last, 0}).ok());
  const auto lowered = lower::LowerGraph(*graph, {});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const KernelPlan& plan = lowered->kernels.back();
  EXPECT_TRUE(absl::StrContains(plan.Text(), "sum in stage 1, dilation 4, channels last\n")) << plan.Text();
  const auto parsed = ParseKernelPlan(plan.Text());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_TRUE(std::get<ContractionForm>(parsed->form).channels_last);
  KernelPlan other = plan;
  std::get<ContractionForm>(other.form).channels_last = false;
  EXPECT_FALSE(VerifyKernelPlan(other).ok());
}

TEST(WinogradWindows, FramesOfVolumes) {
  EXPECT_EQ(LayoutOf({.x = "N, 16, D, H, W", .weights = "16, 16, 1, 3, 3"}), kWinograd);
  EXPECT_EQ(LayoutOf({.x = "N, 16, D, H, W", .weights = "16, 16, 3, 3, 3"}), kWinograd);
  EXPECT_EQ(LayoutOf({.x = "N, 8, D, H, W", .weights = "16, 8, 2, 3, 3"}), kWinograd);
  EXPECT_EQ(LayoutOf({.x = "N, 16, D, H, W", .weights = "16, 16, 3, 3, 3", .windows = {.strides = {2, 1, 1}}}),
            kWinograd);
  EXPECT_EQ(LayoutOf({.x = "N, 16, D, H, W", .weights = "16, 16, 3, 3, 3", .windows = {.strides = {1, 2, 2}}}),
            kDirect);
  EXPECT_EQ(LayoutOf({.x = "N, 16, D, H, W", .weights = "16, 16, 3, 1, 1"}), kDirect);
  EXPECT_EQ(LayoutOf({.x = "N, 16, D, H, W", .weights = "16, 16, 3, 3, 1"}), kDirect);
  EXPECT_EQ(LayoutOf({.x = "N, 16, D, 4, 4", .weights = "16, 16, 1, 3, 3"}), kDirect);
  EXPECT_EQ(LayoutOf({.x = "N, 16, D, 7, 7", .weights = "16, 16, 1, 3, 3"}), kDirect);  // 25 results in a frame
  EXPECT_EQ(LayoutOf({.x = "N, 32, D, H, W", .weights = "32, 16, 1, 3, 3", .groups = 2}), kDirect);
}

TEST(WinogradWindows, NoOtherWindows) {
  EXPECT_EQ(LayoutOf({.windows = {.strides = {2, 1}}}), kDirect);
  EXPECT_EQ(LayoutOf({.windows = {.strides = {1, 2}}}), kDirect);
  EXPECT_EQ(LayoutOf({.weights = "16, 16, 3, 1"}), kDirect);
  EXPECT_EQ(LayoutOf({.weights = "16, 16, 2, 3"}), kDirect);
  EXPECT_EQ(LayoutOf({.weights = "16, 16, 3, 4"}), kDirect);
  EXPECT_EQ(LayoutOf({.weights = "16, 16, 5, 5"}), kDirect);
  EXPECT_EQ(LayoutOf({.weights = "16, 16, 1, 1"}), kDirect);
  EXPECT_EQ(LayoutOf({.x = "N, 16, T", .weights = "16, 16, 9"}), kDirect);
  EXPECT_EQ(LayoutOf({.x = "N, 16, T", .weights = "16, 16, 3"}), kDirect);
}

TEST(WinogradWindows, NoGroups) {
  EXPECT_EQ(LayoutOf({.x = "N, 32, H, W", .weights = "32, 16, 3, 3", .groups = 2}), kDirect);
  EXPECT_EQ(LayoutOf({.weights = "16, 1, 3, 3", .groups = 16}), std::nullopt);
}

TEST(WinogradWindows, NoFewChannels) {
  EXPECT_EQ(LayoutOf({.x = "N, 15, H, W", .weights = "16, 15, 3, 3"}), kDirect);
  EXPECT_EQ(LayoutOf({.weights = "15, 16, 3, 3"}), kDirect);
}

TEST(WinogradWindows, NoFewWindows) {
  EXPECT_EQ(LayoutOf({.x = "N, 16, 6, 6"}), kDirect);
  EXPECT_EQ(LayoutOf({.x = "N, 16, 3, 19"}), kWinograd);
  EXPECT_EQ(LayoutOf({.x = "N, 16, 4, 4", .windows = kPadded}), kDirect);
  EXPECT_EQ(LayoutOf({.x = "N, 16, 5, 4", .windows = kPadded}), kWinograd);
  EXPECT_EQ(LayoutOf({.windows = kPadded, .symbols = " where H in [0, 4], W in [0, 4]"}), kDirect);
  EXPECT_EQ(LayoutOf({.windows = kPadded, .symbols = " where H in [0, 4], W in [0, 5]"}), kWinograd);
}

TEST(WinogradWindows, NoOtherTypesAndNoWeightsThatOnlyARunHas) {
  EXPECT_EQ(LayoutOf({.dtype = "f64"}), kDirect);
  EXPECT_EQ(LayoutOf({.dtype = "f16"}), kDirect);
  EXPECT_EQ(LayoutOf({.dtype = "bf16"}), ConstantLayout::kWordPanels16);
  EXPECT_EQ(LayoutOf({.constant = false}), kDirect);
  EXPECT_EQ(PlanOf({.constant = false}).Text().find("staging"), std::string::npos);  // windows are read in place
}

TEST(WinogradWindows, OnlyOnCpusAndWhereItMayBe) {
  EXPECT_EQ(LayoutOf({}, {.winograd = false}), kDirect);
  EXPECT_EQ(LayoutOf({}, {}, {.winograd = false}), kDirect);
}

// ---- How they are cut ----

TargetTraits TraitsOf(const char* level) { return FindCpuTarget(level)->traits; }

TEST(ScheduleWinograd, EveryLevelHasItsTiles) {
  const auto tile = [](const char* level) {
    const KernelPlan plan = PlanOf({.windows = kPadded}, TraitsOf(level));
    return RecordText(cpu::ScheduleContraction(plan, TraitsOf(level)).tile);
  };
  EXPECT_EQ(tile("x86-64-v2"), "{rows 2, panels 1, task_rows 384, task_panels 8, depth 16, winograd_tiles 96}");
  EXPECT_EQ(tile("x86-64-v3"), "{panels 1, task_rows 384, task_panels 8, depth 16, winograd_tiles 96}");
  EXPECT_EQ(tile("x86-64-v4"),
            "{tall_rows 9, tall_panels 3, task_rows 384, task_panels 8, depth 16, winograd_tiles 96}");
}

// Points and products of a block of tiles stay in L2.
TEST(ScheduleWinograd, ManyChannelsLeaveRoomForFewTiles) {
  const auto tiles = [](int64_t channels, int64_t cache = 512 << 10) {
    TargetTraits traits = TraitsOf("x86-64-v4");
    traits.regional_bytes = cache;
    const Form form{.x = absl::StrCat("N, ", channels, ", H, W"), .weights = absl::StrCat("16, ", channels, ", 3, 3")};
    return cpu::ScheduleContraction(PlanOf(form, traits), traits).tile.winograd_tiles;
  };
  EXPECT_EQ(tiles(16), 96);
  EXPECT_EQ(tiles(64), 64);
  EXPECT_EQ(tiles(191), 32);
  EXPECT_EQ(tiles(128), 42);
  EXPECT_EQ(tiles(2000), 32);
  EXPECT_EQ(tiles(192, 1 << 20), 64);
}

TEST(ScheduleWinograd, TasksAreBlocksOfTilesAndOfColumns) {
  const KernelPlan plan = PlanOf({.weights = "200, 16, 3, 3"}, TraitsOf("x86-64-v4"));
  const Schedule schedule = cpu::ScheduleContraction(plan, TraitsOf("x86-64-v4"));
  ASSERT_EQ(schedule.tile.winograd_tiles, 96);
  // By images, and rows and columns of results.
  const auto tasks = [&](int64_t n, int64_t rows, int64_t columns, int64_t workers = 1) {
    std::vector<int64_t> slots;
    for (const DimSlot& slot : plan.dims) slots.push_back(*slot.value.Evaluate({n, rows + 2, columns + 2}));
    EXPECT_GE(*schedule.tasks_per_chunk.Evaluate(slots, workers), 1);
    return *schedule.tasks.Evaluate(slots, workers);
  };
  EXPECT_EQ(tasks(1, 1, 1), 2);  // 128 of the 200 columns, and the others
  EXPECT_EQ(tasks(3, 20, 18), 2 * 3);
  EXPECT_EQ(tasks(1, 20, 20), 2 * 2);      // 10 rows of 10 tiles, of which 9 are a block
  EXPECT_EQ(tasks(1, 2, 192), 2);          // one row of tiles
  EXPECT_EQ(tasks(1, 2, 193), 2 * 2);      // 49 and 48 tiles of it
  EXPECT_EQ(tasks(1, 192, 1), 2);          // one column
  EXPECT_EQ(tasks(1, 6, 193), 2 * 2 * 3);  // each row is two blocks
  EXPECT_EQ(tasks(1, 4, 386), 2 * 3 * 2);  // 65 and 64 tiles
  EXPECT_EQ(tasks(0, 20, 20), 0);
  EXPECT_EQ(tasks(1, 0, 20), 0);
  EXPECT_EQ(tasks(1, 20, 0), 0);
  EXPECT_EQ(tasks(1, -2, -2), 0);  // images without a window
  // More workers: at most one block of rows for each 16 tiles that begin.
  EXPECT_EQ(tasks(1, 20, 20, 2), 2 * 4);
  EXPECT_EQ(tasks(1, 20, 20, 64), 2 * 5);  // 2 rows of 10 tiles
  EXPECT_EQ(tasks(9, 20, 20, 2), 9 * 2 * 2);
  EXPECT_EQ(tasks(1, 1, 1, 64), 2);
  EXPECT_EQ(tasks(1, 0, 20, 64), 0);
}

}  // namespace
}  // namespace tailor::gemm
