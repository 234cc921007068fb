// Kernels of more tensors, and of more shared memory, than a GPU gives one.
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/ptx/target.h"
#include "codegen/lower/lower_graph.h"
#include "gmock/gmock.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "tests/support/device.h"

namespace tailor::cuda {
namespace {

using testing::HasSubstr;

Graph Parsed(const std::string& text) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// "graph @g(%x0: f32[N], ...) {"
std::string Header(int inputs) {
  std::string text = "graph @g(%x0: f32[N]";
  for (int i = 1; i < inputs; ++i) absl::StrAppend(&text, ", %x", i, ": f32[N]");
  return text + ") {\n";
}

Graph SumOf(int inputs) {
  std::string text = Header(inputs) + "%s1 = add %x0, %x1\n";
  for (int i = 2; i < inputs; ++i) absl::StrAppend(&text, "%s", i, " = add %s", i - 1, ", %x", i, "\n");
  return Parsed(absl::StrCat(text, "return %s", inputs - 1, "\n}"));
}

Graph ConcatOf(int inputs) {
  std::string text = Header(inputs) + "%y = concat %x0";
  for (int i = 1; i < inputs; ++i) absl::StrAppend(&text, ", %x", i);
  return Parsed(text + " {axis = 0}\nreturn %y\n}");
}

// The sums of (x - k)^2 over the first axis, for each k below `count`.
Graph ColumnSums(int count) {
  std::string text = "graph @g(%x: f32[R, C]) {\n", results;
  for (int k = 0; k < count; ++k) {
    absl::StrAppend(&text, "%k", k, " = constant ", k, ".0 : f32[]\n%d", k, " = sub %x, %k", k, "\n%q", k, " = mul %d",
                    k, ", %d", k, "\n%s", k, " = reduce_sum %q", k, " {axes = [0]}\n");
    absl::StrAppend(&results, k == 0 ? "" : ", ", "%s", k);
  }
  return Parsed(absl::StrCat(text, "return ", results, "\n}"));
}

absl::Status Emitted(const Graph& graph, const TargetTraits& traits, size_t* kernels) {
  const auto lowered = lower::LowerGraph(graph, traits);
  if (!lowered.ok()) return lowered.status();
  *kernels = lowered->kernels.size();
  llvm::LLVMContext context;
  llvm::Module module("kernels", context);
  for (const KernelPlan& plan : lowered->kernels) {
    const auto schedule = ScheduleOnCuda(plan, traits);
    if (!schedule.ok()) return schedule.status();
    const absl::Status status = EmitOnCuda(plan, *schedule, absl::StrCat("k", module.size()), module);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

TEST(CudaLimits, ManyTensorsAreSeveralKernels) {
  const CudaTarget target = *FindCudaTarget("sm_80");
  size_t kernels = 0;
  EXPECT_EQ(Emitted(SumOf(100), target.traits, &kernels), absl::OkStatus());
  EXPECT_EQ(kernels, 1u);
  EXPECT_EQ(Emitted(SumOf(600), target.traits, &kernels), absl::OkStatus());
  EXPECT_EQ(kernels, 2u);
}

TEST(CudaLimits, AnOpOfTooManyTensorsIsNamed) {
  size_t kernels = 0;
  const absl::Status status = Emitted(ConcatOf(600), FindCudaTarget("sm_80")->traits, &kernels);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("bytes, of 4352 that a GPU's kernels have"));
}

// 60 reductions in blocks of 256 threads would take 120 KiB.
TEST(CudaLimits, ColumnsOfManyReductionsHaveFewerThreads) {
  const CudaTarget target = *FindCudaTarget("sm_80");
  const auto lowered = lower::LowerGraph(ColumnSums(60), target.traits);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  ASSERT_EQ(lowered->kernels.size(), 1u);
  const auto schedule = ScheduleOnCuda(lowered->kernels[0], target.traits);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  for (const CudaVersion& version : schedule->versions) {
    EXPECT_EQ(version.threads, 128);
    EXPECT_EQ(version.shared_bytes, 60 * 128 * 8);
    EXPECT_LE(version.resident_blocks * (60 * 128 * 8 + 1024), 100 << 10);
  }
}

TEST(CudaLimits, TheyAreComputed) {
  constexpr int kSums = 130;  // 260 KiB by 256 threads
  const auto device = std::move(DevicesUnderTest().front());
  ASSERT_EQ(device->name(), "simt") << "TAILOR_TEST_DEVICE is to be emulated";
  const auto program = device->Compile(ColumnSums(kSums));
  ASSERT_TRUE(program.ok()) << program.status();
  for (const int64_t rows : {3, 70}) {
    constexpr int64_t kColumns = 5;
    std::vector<float> x(rows * kColumns);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7);
    HostTensor input{DType::kF32, {rows, kColumns}, std::vector<std::byte>(x.size() * sizeof(float))};
    std::memcpy(input.bytes.data(), x.data(), input.bytes.size());
    const auto outputs = (*program)->Run({input}, 1);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    for (int k = 0; k < kSums; ++k) {
      for (int64_t c = 0; c < kColumns; ++c) {
        float want = 0, got = 0;  // whole numbers: exact
        for (int64_t r = 0; r < rows; ++r) want += (x[r * kColumns + c] - k) * (x[r * kColumns + c] - k);
        std::memcpy(&got, (*outputs)[k].bytes.data() + c * sizeof got, sizeof got);
        ASSERT_EQ(got, want) << "k = " << k << ", column " << c;
      }
    }
  }
}

}  // namespace
}  // namespace tailor::cuda
