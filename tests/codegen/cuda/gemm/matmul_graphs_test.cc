// From a graph to matmuls on a GPU: the kernel that packs an rhs, then the matmul that reads it, in the emulator.
#include <random>

#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/ptx/target.h"
#include "codegen/lower/lower_graph.h"
#include "codegen/plan/plan_queries.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/emulator/simt_emulator.h"

namespace tailor::cuda {
namespace {

std::vector<float> Random(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& v : values) v = std::uniform_real_distribution<float>(-3, 3)(random);
  return values;
}

// The kernels of a graph, in the order in which they run.
class EmulatedGraph {
 public:
  explicit EmulatedGraph(const char* text) {
    auto parsed = ParseGraph(text);
    EXPECT_TRUE(parsed.ok()) << parsed.status();
    const TargetTraits traits = FindCudaTarget("sm_90")->traits;
    auto lowered = lower::LowerGraph(*parsed, traits);
    EXPECT_TRUE(lowered.ok()) << lowered.status();
    kernels_ = lowered->kernels;
    llvm::LLVMContext context;
    llvm::Module module("kernels", context);
    for (size_t i = 0; i < kernels_.size(); ++i) {
      schedules_.push_back(*ScheduleOnCuda(kernels_[i], traits));
      const absl::Status emitted = EmitOnCuda(kernels_[i], schedules_.back(), "k" + std::to_string(i), module);
      EXPECT_TRUE(emitted.ok()) << emitted;
    }
    emulator_ = std::make_unique<SimtEmulator>(module);
  }

  // Launches the last version of kernel `number` for the values of the graph's symbols.
  void Launch(size_t number, std::vector<const void*> buffers, const std::vector<int64_t>& symbols) {
    const KernelPlan& plan = kernels_.at(number);
    const CudaSchedule& schedule = schedules_.at(number);
    const CudaVersion& version = schedule.versions.back();
    std::vector<int64_t> slots, dims;
    for (const void* buffer : buffers) slots.push_back(reinterpret_cast<int64_t>(buffer));
    for (const DimSlot& slot : plan.dims) dims.push_back(*slot.value.Evaluate(symbols));
    slots.insert(slots.end(), dims.begin(), dims.end());
    if (HasScratch(plan)) slots.insert(slots.end(), {0, *version.scratch_bytes.Evaluate(dims)});
    const SimtGrid grid{.blocks = *version.blocks.Evaluate(dims),
                        .threads = version.threads,
                        .shared_bytes = *version.shared_bytes.Evaluate(dims)};
    const std::string name = "k" + std::to_string(number) + "_v" + std::to_string(schedule.versions.size() - 1);
    ASSERT_EQ(emulator_->Launch(name, grid, slots.data(), 5), "");
  }
  const std::vector<KernelPlan>& kernels() const { return kernels_; }

 private:
  std::vector<KernelPlan> kernels_;
  std::vector<CudaSchedule> schedules_;
  std::unique_ptr<SimtEmulator> emulator_;
};

TEST(CudaMatmulGraphs, ARightOperandThatIsComputedIsPackedFirst) {
  EmulatedGraph graph(R"(
graph @matmul(%x: f32[B, M, K], %w: f32[B, N, K], %b: f32[N]) {
  %d = dot %x, %w {transpose_rhs = 1}
  %y = add %d, %b
  return "y" = %y
}
)");
  ASSERT_EQ(graph.kernels().size(), 2u);
  const int64_t batch = 3, rows = 70, columns = 20, depth = 37;
  const std::vector<float> x = Random(batch * rows * depth, 1), w = Random(batch * columns * depth, 2),
                           b = Random(columns, 3);
  std::vector<float> panels(batch * 32 * depth), y(batch * rows * columns);
  const std::vector<int64_t> symbols = {batch, rows, depth, columns};
  graph.Launch(0, {w.data(), panels.data()}, symbols);
  graph.Launch(1, {x.data(), panels.data(), b.data(), y.data()}, symbols);
  for (int64_t i = 0; i < batch * rows * columns; ++i) {
    const int64_t n = i % columns, row = i / columns, batch_index = row / rows;
    double sum = b[n];
    for (int64_t k = 0; k < depth; ++k) sum += double{x[row * depth + k]} * w[(batch_index * columns + n) * depth + k];
    ASSERT_NEAR(y[i], sum, 1e-4) << i;
  }
}

// What a CPU keeps in a box, the padded image, is an expression of the load here.
TEST(CudaMatmulGraphs, AConvolutionReadsItsPaddedWindowsInPlace) {
  EmulatedGraph graph(R"(
graph @conv(%x: f32[N, 3, 8, 8], %w: f32[8, 3, 3, 3], %b: f32[8]) {
  %zero = constant 0 : f32[]
  %p = pad %x, %zero {low = [0, 0, 1, 1], high = [0, 0, 1, 1]}
  %v = window %p {axes = [2, 3], sizes = [3, 3]}
  %t = transpose %v {permutation = [0, 1, 4, 5, 2, 3]}
  %r = reshape %t {shape = [N, 27, 64]}
  %m = reshape %w {shape = [8, 27]}
  %d = dot %r, %m {transpose_lhs = 1, transpose_rhs = 1}
  %e = add %d, %b
  %c = transpose %e {permutation = [0, 2, 1]}
  %o = reshape %c {shape = [N, 8, 8, 8]}
  %y = max %o, %zero
  return "y" = %y
}
)");
  ASSERT_EQ(graph.kernels().size(), 2u);
  ASSERT_TRUE(HasScratch(graph.kernels()[1])) << "a box: " << graph.kernels()[1].Text();
  const int64_t images = 2;
  const std::vector<float> x = Random(images * 192, 1), w = Random(8 * 27, 2), b = Random(8, 3);
  std::vector<float> panels(27 * 16), y(images * 512);
  graph.Launch(0, {w.data(), panels.data()}, {images});
  graph.Launch(1, {x.data(), panels.data(), b.data(), y.data()}, {images});
  for (int64_t i = 0; i < images * 512; ++i) {
    const int64_t image = i / 512, filter = i / 64 % 8, row = i / 8 % 8, column = i % 8;
    double sum = b[filter];
    for (int64_t k = 0; k < 27; ++k) {
      const int64_t channel = k / 9, r = row + k / 3 % 3 - 1, c = column + k % 3 - 1;
      if (r < 0 || r >= 8 || c < 0 || c >= 8) continue;
      sum += double{w[filter * 27 + k]} * x[((image * 3 + channel) * 8 + r) * 8 + c];
    }
    ASSERT_NEAR(y[i], std::max(sum, 0.0), 1e-4) << i;
  }
}

TEST(CudaMatmulGraphs, IntegersWrap) {
  EmulatedGraph graph(R"(
graph @integers(%x: i32[M, 40], %w: i32[40, 8]) {
  %y = dot %x, %w
  return "y" = %y
}
)");
  const int64_t rows = 5;
  std::mt19937 random(1);
  std::vector<int32_t> x(rows * 40), w(40 * 8), panels(40 * 16), y(rows * 8);
  for (int32_t& v : x) v = static_cast<int32_t>(random());
  for (int32_t& v : w) v = static_cast<int32_t>(random());
  graph.Launch(0, {w.data(), panels.data()}, {rows});
  graph.Launch(1, {x.data(), panels.data(), y.data()}, {rows});
  for (int64_t i = 0; i < rows * 8; ++i) {
    uint32_t sum = 0;
    for (int64_t k = 0; k < 40; ++k)
      sum += static_cast<uint32_t>(x[i / 8 * 40 + k]) * static_cast<uint32_t>(w[k * 8 + i % 8]);
    ASSERT_EQ(y[i], static_cast<int32_t>(sum)) << i;
  }
}

}  // namespace
}  // namespace tailor::cuda
