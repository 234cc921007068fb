#include "codegen/cuda/schedule_cuda.h"

#include "codegen/cuda/cuda_target.h"
#include "gtest/gtest.h"
#include "tests/codegen/loop_plans.h"

namespace tailor {
namespace {

std::string TextOf(const KernelPlan& plan) { return ScheduleCudaLoops(plan, FindCudaTarget("sm_80")->traits).Text(); }

TEST(ScheduleCudaLoops, ElementwiseHasAThreadPerElement) {
  EXPECT_EQ(TextOf(BiasTanhPlan()),
            "always: thread per element, threads 256, blocks min(floordiv(d0*d1 + 255, 256), 4096), shared bytes 0, "
            "scratch bytes 0\n");
}

TEST(ScheduleCudaLoops, RowBuffersStayInSharedMemoryWhereTheyFit) {
  EXPECT_EQ(
      TextOf(RowSoftmaxPlan()),
      "d1 <= 12272: block per row, threads 256, blocks min(d0, 65536), shared bytes 64*floordiv(d1 + 15, 16) + 64, "
      "scratch bytes 0\n"
      "always: block per row, threads 256, blocks min(d0, 65536), shared bytes 64, scratch bytes "
      "64*floordiv(d1 + 15, 16)\n");
}

TEST(ScheduleCudaLoops, ShortRowsNeedNoFallbackAndFewThreads) {
  EXPECT_EQ(TextOf(RowSoftmaxPlan(/*max_columns=*/30)),
            "always: block per row, threads 32, blocks min(d0, 65536), shared bytes 64*floordiv(d1 + 15, 16), scratch "
            "bytes 0\n");
}

TEST(ScheduleCudaLoops, ReductionsOverOuterDimsReadWholeLines) {
  EXPECT_EQ(TextOf(ColumnTotalPlan()).substr(0, 26), "always: thread per element");
  EXPECT_EQ(TextOf(RowMinAndSumPlan()).substr(0, 21), "always: block per row");
}

TEST(CudaTarget, UnknownNamesListTheKnownOnes) {
  const absl::Status status = FindCudaTarget("sm_12").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "unknown GPU target \"sm_12\"; known are sm_80, sm_90, sm_90a, simt");
}

}  // namespace
}  // namespace tailor
