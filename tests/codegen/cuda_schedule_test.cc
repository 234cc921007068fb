#include "codegen/cuda/schedule_cuda.h"

#include "codegen/cuda/cuda_target.h"
#include "gtest/gtest.h"
#include "tests/codegen/loop_plans.h"

namespace tailor {
namespace {

std::string TextOf(const KernelPlan& plan) { return ScheduleCudaLoops(plan, FindCudaTarget("sm_80")->traits).Text(); }

TEST(ScheduleCudaLoops, ElementwiseHasAThreadPerElement) {
  EXPECT_EQ(TextOf(BiasTanhPlan()),
            "thread per element, threads 256\n"
            "blocks min(floordiv(d0*d1 + 255, 256), 4096), row bytes 0, partial bytes 0\n"
            "version: always\n");
}

TEST(ScheduleCudaLoops, RowBuffersStayInSharedMemoryWhereTheyFit) {
  EXPECT_EQ(TextOf(RowSoftmaxPlan()),
            "block per row, threads 256\n"
            "blocks min(d0, 65536), row bytes 64*floordiv(d1 + 15, 16), partial bytes 64\n"
            "version: d1 <= 12272, rows in shared\n"
            "version: always\n");
}

TEST(ScheduleCudaLoops, ShortRowsNeedNoFallbackAndFewThreads) {
  EXPECT_EQ(TextOf(RowSoftmaxPlan(/*max_columns=*/30)),
            "block per row, threads 32\n"
            "blocks min(d0, 65536), row bytes 64*floordiv(d1 + 15, 16), partial bytes 0\n"
            "version: always, rows in shared\n");
}

TEST(ScheduleCudaLoops, ReductionsOverOuterDimsReadWholeLines) {
  EXPECT_EQ(TextOf(ColumnTotalPlan()).substr(0, 18), "thread per element");
  EXPECT_EQ(TextOf(RowMinAndSumPlan()).substr(0, 13), "block per row");
}

TEST(CudaTarget, UnknownNamesListTheKnownOnes) {
  const absl::Status status = FindCudaTarget("sm_12").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "unknown GPU target \"sm_12\"; known are sm_80, sm_90");
}

}  // namespace
}  // namespace tailor
