// Rows, columns and matmuls' tiles that several blocks share, from the graph to the driver's call: what a CPU gives,
// the same bits run after run, and after runs that failed.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/ptx/target.h"
#include "codegen/lower/lower_graph.h"
#include "graph/element.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/codegen/cpu/loops/parts_cases.h"
#include "tests/support/device.h"

namespace tailor::cuda {
namespace {

// The gather fails where i is no row.
constexpr char kMayFail[] = R"(graph @g(%x: f32[R, C], %i: i64[1]) {
  %s = reduce_sum %x {axes = [0, 1], keep_dims = 1}
  %t = gather %x, %i
  %y = add %t, %s
  return %y
})";

// Numbers in [-1, 1) whose sums every order rounds differently.
HostTensor RoundedNumbers(DType dtype, int64_t rows, int64_t columns) {
  HostTensor tensor = cpu::Tensor(dtype, {rows, columns});
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int64_t i = 0; i < rows * columns; ++i) {
    const float value = uniform(random);
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const auto upper = static_cast<uint16_t>(bits >> 16);
    if (dtype == DType::kF32) std::memcpy(&tensor.bytes[i * 4], &value, 4);
    if (dtype == DType::kBF16) std::memcpy(&tensor.bytes[i * 2], &upper, 2);
  }
  return tensor;
}

double At(const HostTensor& tensor, size_t i) {
  return ElementToDouble(tensor.dtype, &tensor.bytes[i * SizeOf(tensor.dtype)]);
}

double Tolerance(DType dtype) {
  if (dtype == DType::kF64) return 1e-12;
  if (dtype == DType::kF32) return 1e-6;
  return IsFloat(dtype) ? 0.02 : 0;
}

// `slack`: how many times Tolerance they may differ by.
void ExpectNear(const std::vector<HostTensor>& got, const std::vector<HostTensor>& want, double slack = 1) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t o = 0; o < want.size(); ++o) {
    ASSERT_EQ(got[o].dims, want[o].dims);
    for (size_t i = 0; i < want[o].bytes.size() / SizeOf(want[o].dtype); ++i) {
      const double w = At(want[o], i);
      if (std::isnan(w) && std::isnan(At(got[o], i))) continue;
      if (w == At(got[o], i)) continue;
      ASSERT_NEAR(At(got[o], i), w, slack * Tolerance(want[o].dtype) * (1 + std::abs(w)))
          << "output " << o << ", " << i;
    }
  }
}

// Whether blocks of a kernel of `graph` share rows or columns.
bool HasParts(const tailor::Graph& graph) {
  const TargetTraits traits = FindCudaTarget("simt")->traits;
  const auto lowered = lower::LowerGraph(graph, traits);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  return std::any_of(lowered->kernels.begin(), lowered->kernels.end(), [&](const KernelPlan& plan) {
    const std::vector<CudaVersion> versions = ScheduleOnCuda(plan, traits)->versions;
    return std::any_of(versions.begin(), versions.end(),
                       [](const CudaVersion& version) { return version.cooperative; });
  });
}

// A graph on a CPU and on a GPU.
class CudaPartsTest : public testing::Test {
 protected:
  void Compile(const std::string& text) {
    const auto graph = ParseGraph(text);
    ASSERT_TRUE(graph.ok()) << graph.status();
    ASSERT_TRUE(HasParts(*graph));
    auto cpu = CpuDevices().front()->Compile(*graph), gpu = DevicesUnderTest().front()->Compile(*graph);
    ASSERT_TRUE(cpu.ok()) << cpu.status();
    ASSERT_TRUE(gpu.ok()) << gpu.status();
    cpu_ = *std::move(cpu);
    gpu_ = *std::move(gpu);
    dtype_ = graph->type({graph->inputs()[0], 0}).dtype;
  }

  std::unique_ptr<TestProgram> cpu_, gpu_;
  DType dtype_ = DType::kInvalid;
};

class CudaParts : public CudaPartsTest, public testing::WithParamInterface<cpu::PartsCase> {};

TEST_P(CudaParts, GiveWhatACpuGivesRunAfterRun) {
  Compile(GetParam().Text());
  ASSERT_FALSE(HasFatalFailure());
  const HostTensor first = cpu::Tensor(DType::kI64, {1});
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{1, 64}, {3, 1200}, {40, 97}, {700, 3}, {2, 0}, {300, 66}, {1, 1}, {2, 5001}}) {
    SCOPED_TRACE(absl::StrCat(rows, " x ", columns));
    const std::vector<HostTensor> inputs = {cpu::Numbers(dtype_, rows, columns), first};
    const auto want = cpu_->Run(inputs, 1), got = gpu_->Run(inputs, 1), again = gpu_->Run(inputs, 1);
    ASSERT_TRUE(want.ok()) << want.status();
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_TRUE(again.ok()) << again.status();
    ExpectNear(*got, *want);
    if (HasFatalFailure()) return;
    for (size_t i = 0; i < got->size(); ++i) EXPECT_EQ((*got)[i].bytes, (*again)[i].bytes) << "other bits";
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaParts, testing::ValuesIn(cpu::kPartsCases),
                         [](const auto& info) { return std::string(info.param.name); });

// Few tiles and a long K: the blocks share every tile, of few rows those that are streamed.
TEST_F(CudaPartsTest, MatmulsGiveTheSameBitsRunAfterRun) {
  for (const char* dtype : {"f32", "bf16"}) {
    SCOPED_TRACE(dtype);
    Compile(absl::StrReplaceAll(R"(graph @g(%x: T[R, C]) {
  %y = dot %x, %x {transpose_rhs = 1}
  %z = max %y, %y
  return %z
})",
                                {{"T[", absl::StrCat(dtype, "[")}}));
    ASSERT_FALSE(HasFatalFailure());
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{40, 2001}, {129, 300}, {4, 20001}}) {
      SCOPED_TRACE(absl::StrCat(rows, " x ", columns));
      const std::vector<HostTensor> inputs = {RoundedNumbers(dtype_, rows, columns)};
      const auto want = cpu_->Run(inputs, 1), got = gpu_->Run(inputs, 1);
      ASSERT_TRUE(want.ok()) << want.status();
      ASSERT_TRUE(got.ok()) << got.status();
      ExpectNear(*got, *want, /*slack=*/dtype_ == DType::kF32 ? 50 : 1);
      for (int again = 0; again < 2; ++again) {
        const auto other = gpu_->Run(inputs, 1);
        ASSERT_TRUE(other.ok()) << other.status();
        EXPECT_EQ((*other)[0].bytes, (*got)[0].bytes) << "other bits";
      }
      if (HasFailure()) return;
    }
  }
}

TEST_F(CudaPartsTest, RunAfterAFailedRun) {
  Compile(kMayFail);
  const HostTensor first = cpu::Tensor(DType::kI64, {1});
  HostTensor third = first;
  third.bytes[0] = std::byte{2};
  const HostTensor x = cpu::Numbers(DType::kF32, 2, 3000);
  const auto want = cpu_->Run({x, first}, 1);
  ASSERT_TRUE(want.ok()) << want.status();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(gpu_->Run({x, third}, 1).ok());
    const auto got = gpu_->Run({x, first}, 1);
    ASSERT_TRUE(got.ok()) << got.status();
    ExpectNear(*got, *want);
  }
}

}  // namespace
}  // namespace tailor::cuda
