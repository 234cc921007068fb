#include "codegen/cuda/schedule_cuda.h"

#include "codegen/cuda/cuda_target.h"
#include "gtest/gtest.h"
#include "tests/codegen/loop_plans.h"

namespace tailor {
namespace {

std::string TextOf(const KernelPlan& plan) { return ScheduleCudaLoops(plan, FindCudaTarget("sm_80")->traits).Text(); }

TEST(ScheduleCudaLoops, ElementwiseHasAThreadPerFourElements) {
  EXPECT_EQ(TextOf(BiasTanhPlan()),
            "always: thread per element, lanes 4, threads 256, blocks min(floordiv(d0*d1 + 1023, 1024), 4096), shared "
            "bytes 0, scratch bytes 0\n");
}

TEST(ScheduleCudaLoops, LongerRowsHaveMoreThreadsAndLeaveSharedMemory) {
  EXPECT_EQ(TextOf(RowSoftmaxPlan()),
            "d1 <= 64: 8 threads per row, lanes 4, threads 128, blocks min(floordiv(d0 + 15, 16), 65536), shared "
            "bytes 1024*floordiv(d1 + 15, 16), scratch bytes 0\n"
            "d1 <= 1024: 32 threads per row, lanes 4, threads 128, blocks min(floordiv(d0 + 3, 4), 65536), shared "
            "bytes 256*floordiv(d1 + 15, 16), scratch bytes 0\n"
            "d1 <= 8192: 256 threads per row, lanes 4, threads 256, blocks min(d0, 65536), shared bytes "
            "64*floordiv(d1 + 15, 16) + 64, scratch bytes 0\n"
            "d1 <= 25312: 512 threads per row, lanes 4, threads 512, blocks min(d0, 65536), shared bytes "
            "64*floordiv(d1 + 15, 16) + 128, scratch bytes 0\n"
            "always: 512 threads per row, lanes 4, threads 512, blocks min(d0, 512), shared bytes 128, scratch bytes "
            "64*floordiv(d1 + 15, 16)\n");
}

TEST(ScheduleCudaLoops, ShortRowsNeedNoOtherVersion) {
  EXPECT_EQ(TextOf(RowSoftmaxPlan(/*max_columns=*/30)),
            "always: 8 threads per row, lanes 4, threads 128, blocks min(floordiv(d0 + 15, 16), 65536), shared bytes "
            "1024*floordiv(d1 + 15, 16), scratch bytes 0\n");
}

TEST(ScheduleCudaLoops, ReductionsOverOuterDimsReadWholeLines) {
  EXPECT_EQ(TextOf(ColumnTotalPlan()),
            "always: columns, threads 256, blocks min(floordiv(d0 + 31, 32), 65536), shared bytes 2048, scratch bytes "
            "0\n");
  EXPECT_EQ(TextOf(RowMinAndSumPlan()).substr(0, 38), "d1 <= 128: 8 threads per row, lanes 8,");
}

TEST(ScheduleCudaLoops, LoadsAlongAnotherAxisThanStoresGoThroughTiles) {
  KernelPlan plan = BiasTanhPlan();
  for (Expr& e : plan.exprs) {
    if (e.kind == ExprKind::kLoad && e.ref == 0) std::swap(e.args[0], e.args[1]);
  }
  std::swap(plan.buffers[0].dims[0], plan.buffers[0].dims[1]);
  EXPECT_EQ(TextOf(plan),
            "always: transposed tiles, threads 256, blocks min(floordiv(d0 + 31, 32)*floordiv(d1 + 31, 32), 65536), "
            "shared bytes 4224, scratch bytes 0\n");
}

TEST(CudaTarget, BlocksHaveTheSharedMemoryOfEveryGpuThatRunsThem) {
  for (const char* name : {"sm_80", "sm_90"}) {  // GPUs of 8.6, 8.9 and 12.0 run them too
    EXPECT_EQ(FindCudaTarget(name)->traits.regional_bytes, 99 << 10);
  }
  for (const char* name : {"sm_90a", "simt"}) EXPECT_EQ(FindCudaTarget(name)->traits.regional_bytes, 227 << 10);
}

TEST(CudaTarget, UnknownNamesListTheKnownOnes) {
  const absl::Status status = FindCudaTarget("sm_12").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "unknown GPU target \"sm_12\"; known are sm_80, sm_90, sm_90a, simt");
}

}  // namespace
}  // namespace tailor
