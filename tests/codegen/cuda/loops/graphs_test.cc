// From a graph to GPU kernels through the same fusion and lowering that the CPU takes, given a GPU's traits.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "codegen/cuda/loops/emit_loops.h"
#include "codegen/cuda/ptx/assemble.h"
#include "codegen/cuda/ptx/compile_ptx.h"
#include "codegen/lower/lower_graph.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/emulator/simt_emulator.h"

namespace tailor::cuda {
namespace {

constexpr char kSoftmax[] = R"(
graph @softmax(%x: f32[B, C], %m: f32[C]) {
  %a = add %x, %m
  %m1 = reduce_max %a {axes = [-1], keep_dims = 1}
  %s = sub %a, %m1
  %e = exp %s
  %t = reduce_sum %e {axes = [-1], keep_dims = 1}
  %y = div %e, %t
  return "y" = %y
}
)";

constexpr char kLayerNorm[] = R"(
graph @norm(%x: f32[B, C], %g: f32[C]) {
  %mean = reduce_mean %x {axes = [1], keep_dims = 1}
  %cent = sub %x, %mean
  %sq = mul %cent, %cent
  %var = reduce_mean %sq {axes = [1], keep_dims = 1}
  %eps = constant 1e-5 : f32[]
  %ve = add %var, %eps
  %rs = rsqrt %ve
  %n = mul %cent, %rs
  %y = mul %n, %g
  return "y" = %y
}
)";

constexpr char kBiasGelu[] = R"(
graph @gelu(%x: f32[B, C], %b: f32[C]) {
  %z = add %x, %b
  %r = constant 0.70710678 : f32[]
  %s = mul %z, %r
  %e = erf %s
  %one = constant 1.0 : f32[]
  %p = add %e, %one
  %half = constant 0.5 : f32[]
  %h = mul %z, %half
  %y = mul %h, %p
  return "y" = %y
}
)";

// The one kernel that `text` becomes.
KernelPlan KernelOf(const char* text, const TargetTraits& traits) {
  auto parsed = ParseGraph(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  auto lowered = lower::LowerGraph(*parsed, traits);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_EQ(lowered->kernels.size(), 1u);
  return lowered->kernels.at(0);
}

// What y[i, j] is, from row i of x, the second input v, and C.
using Reference = std::function<double(const float* x, const float* v, int64_t columns, int64_t j)>;

double SoftmaxAt(const float* x, const float* v, int64_t columns, int64_t j) {
  double sum = 0;
  for (int64_t k = 0; k < columns; ++k) sum += std::exp(double{x[k]} + v[k] - x[j] - v[j]);
  return 1 / sum;
}

double LayerNormAt(const float* x, const float* v, int64_t columns, int64_t j) {
  double mean = 0, variance = 0;
  for (int64_t k = 0; k < columns; ++k) mean += double{x[k]} / columns;
  for (int64_t k = 0; k < columns; ++k) variance += (x[k] - mean) * (x[k] - mean) / columns;
  return (x[j] - mean) / std::sqrt(variance + 1e-5) * v[j];
}

double BiasGeluAt(const float* x, const float* v, int64_t, int64_t j) {
  const double z = double{x[j]} + v[j];
  return z * 0.5 * (1 + std::erf(z / std::sqrt(2.0)));
}

struct GraphCase {
  const char* name;
  const char* text;
  Reference reference;
  bool elementwise = false;
};

class CudaGraphs : public testing::TestWithParam<GraphCase> {
 protected:
  CudaTarget target_ = *FindCudaTarget("sm_90");
  KernelPlan plan_ = KernelOf(GetParam().text, target_.traits);
  CudaSchedule schedule_ = ScheduleCudaLoops(plan_, target_.traits);
};

std::vector<float> Random(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& v : values) v = std::uniform_real_distribution<float>(-3, 3)(random);
  return values;
}

// Whether no row is too long for it.
bool IsFor(const std::vector<int64_t>& dims, const CudaVersion& version) {
  return std::all_of(version.version.guards.begin(), version.version.guards.end(), [&](const Guard& guard) {
    return guard.kind != Guard::Kind::kAtMost || dims[guard.slot] <= guard.number;
  });
}

TEST_P(CudaGraphs, BecomeOneKernelOfTheRightShape) {
  const auto shape = GetParam().elementwise ? CudaVersion::Shape::kThreadPerElement : CudaVersion::Shape::kRows;
  EXPECT_EQ(schedule_.versions[0].shape, shape) << plan_.Text();
}

TEST_P(CudaGraphs, ComputeWhatTheGraphSays) {
  llvm::LLVMContext context;
  llvm::Module module("kernels", context);
  ASSERT_TRUE(EmitCudaLoops(plan_, schedule_, "k", module).ok());
  SimtEmulator emulator(module);
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {3, 40}, {2, 300}}) {
    const std::vector<float> x = Random(rows * columns, 1), v = Random(columns, 2);
    std::vector<float> y(rows * columns);
    std::vector<int64_t> dims, slots = {reinterpret_cast<int64_t>(x.data()), reinterpret_cast<int64_t>(v.data()),
                                        reinterpret_cast<int64_t>(y.data())};
    for (const DimSlot& slot : plan_.dims) dims.push_back(*slot.value.Evaluate({rows, columns}));
    slots.insert(slots.end(), dims.begin(), dims.end());
    slots.resize(slots.size() + 4);  // scratch, which rows in shared memory do not read
    const auto version = std::find_if(schedule_.versions.begin(), schedule_.versions.end(),
                                      [&](const CudaVersion& each) { return !each.cooperative && IsFor(dims, each); });
    const SimtGrid grid{.blocks = std::min<int64_t>(*version->blocks.Evaluate(dims), 2),
                        .threads = version->threads,
                        .shared_bytes = *version->shared_bytes.Evaluate(dims)};
    const std::string name = "k_v" + std::to_string(version - schedule_.versions.begin());
    ASSERT_EQ(emulator.Launch(name, grid, slots.data(), 3), "");
    for (int64_t i = 0; i < rows * columns; ++i) {
      const float* row = x.data() + i / columns * columns;
      EXPECT_NEAR(y[i], GetParam().reference(row, v.data(), columns, i % columns), 2e-5) << i;
    }
  }
}

TEST_P(CudaGraphs, AssembleForEveryTarget) {
  auto ptxas = FindPtxas();
  if (!ptxas.ok()) GTEST_SKIP() << ptxas.status().message();
  for (const char* name : {"sm_80", "sm_90"}) {
    const CudaTarget target = *FindCudaTarget(name);
    llvm::LLVMContext context;
    auto module = std::make_unique<llvm::Module>("kernels", context);
    ASSERT_TRUE(EmitCudaLoops(plan_, schedule_, "k", *module).ok());
    auto ptx = CompileToPtx(std::move(module), target);
    ASSERT_TRUE(ptx.ok()) << ptx.status();
    auto cubin = AssemblePtx(*ptxas, *ptx, target);
    EXPECT_TRUE(cubin.ok()) << cubin.status();
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaGraphs,
                         testing::Values(GraphCase{"Softmax", kSoftmax, SoftmaxAt},
                                         GraphCase{"LayerNorm", kLayerNorm, LayerNormAt},
                                         GraphCase{"BiasGelu", kBiasGelu, BiasGeluAt, true}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tailor::cuda
