#include "codegen/cuda/schedule/cuda_schedule.h"

#include "codegen/cuda/ptx/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/plan/loop_plans.h"

namespace tailor::cuda {
namespace {

std::string TextOf(const KernelPlan& plan) { return ScheduleCudaLoops(plan, FindCudaTarget("sm_80")->traits).Text(); }

TEST(ScheduleCudaLoops, ElementwiseHasAThreadPerFourElements) {
  EXPECT_EQ(TextOf(BiasTanhPlan()),
            "always: thread per element, lanes 4, threads 256, blocks min(floordiv(d0*d1 + 1023, 1024), 4096), shared "
            "bytes 0, scratch bytes 0\n");
}

TEST(ScheduleCudaLoops, LongerRowsHaveMoreThreadsAndLeaveSharedMemory) {
  EXPECT_EQ(TextOf(RowSoftmaxPlan()),
            "d1 >= 8192 and d0 <= 256: 256 threads per part of a row, lanes 4, threads 256, blocks "
            "min(d0*min(floordiv(d1 + 4095, 4096), floordiv(4096, max(d0, 1))), 65536), shared bytes 64, scratch bytes "
            "64*d0*floordiv(d1 + 15, 16) + 16*d0*min(floordiv(d1 + 4095, 4096), floordiv(4096, max(d0, 1))), "
            "min(floordiv(d1 + 4095, 4096), floordiv(4096, max(d0, 1))) parts, 4 blocks resident\n"
            "d1 <= 64: 8 threads per row, lanes 4, turns 2, threads 128, blocks min(floordiv(d0 + 15, 16), 65536), "
            "shared bytes 1024*floordiv(d1 + 15, 16), scratch bytes 0\n"
            "d1 <= 256: 32 threads per row, lanes 4, turns 2, threads 128, blocks min(floordiv(d0 + 3, 4), 65536), "
            "shared bytes 256*floordiv(d1 + 15, 16), scratch bytes 0\n"
            "d1 <= 1024: 32 threads per row, lanes 4, turns 8, threads 128, blocks min(floordiv(d0 + 3, 4), 65536), "
            "shared bytes 256*floordiv(d1 + 15, 16), scratch bytes 0\n"
            "d1 <= 8192: 256 threads per row, lanes 4, threads 256, blocks min(d0, 65536), shared bytes "
            "64*floordiv(d1 + 15, 16) + 64, scratch bytes 0\n"
            "d1 <= 25312: 512 threads per row, lanes 4, threads 512, blocks min(d0, 65536), shared bytes "
            "64*floordiv(d1 + 15, 16) + 128, scratch bytes 0\n"
            "always: 256 threads per row, lanes 4, threads 256, blocks min(d0, 512), shared bytes 64, scratch bytes "
            "64*floordiv(d1 + 15, 16)\n");
}

// 1,000,000 elements in all: 245 parts of one row, whatever the GPU.
TEST(ScheduleCudaLoops, OneLongRowIsShared) {
  KernelPlan plan = RowSoftmaxPlan();
  for (Buffer& buffer : plan.buffers) {
    for (Extent& extent : buffer.dims) extent = extent.slot == 0 ? Extent{1} : Extent{1000000};
  }
  plan.axes[0].extent = Extent{1};
  plan.axes[1].extent = Extent{1000000};
  EXPECT_EQ(TextOf(plan),
            "always: 256 threads per part of a row, lanes 4, threads 256, blocks 245, shared bytes 64, scratch bytes "
            "4003920, 245 parts, 4 blocks resident\n");
}

TEST(ScheduleCudaLoops, ShortRowsNeedNoOtherVersion) {
  EXPECT_EQ(
      TextOf(RowSoftmaxPlan(/*max_columns=*/30)),
      "always: 8 threads per row, lanes 4, turns 2, threads 128, blocks min(floordiv(d0 + 15, 16), 65536), shared "
      "bytes 1024*floordiv(d1 + 15, 16), scratch bytes 0\n");
}

TEST(ScheduleCudaLoops, ReductionsOverOuterDimsReadWholeLines) {
  EXPECT_EQ(TextOf(ColumnTotalPlan()),
            "d1 >= 256 and floordiv(d0 + 31, 32) <= 256: parts of columns, threads 256, blocks min(floordiv(d0 + 31, "
            "32)*min(floordiv(d1 + 127, 128), floordiv(4096, max(floordiv(d0 + 31, 32), 1))), 65536), shared bytes "
            "2048, scratch bytes 256*floordiv(d0 + 31, 32)*min(floordiv(d1 + 127, 128), floordiv(4096, "
            "max(floordiv(d0 + 31, 32), 1))), min(floordiv(d1 + 127, 128), floordiv(4096, max(floordiv(d0 + 31, 32), "
            "1))) parts, 4 blocks resident\n"
            "always: columns, threads 256, blocks min(floordiv(d0 + 31, 32), 65536), shared bytes 2048, scratch bytes "
            "0\n");
  EXPECT_THAT(TextOf(RowMinAndSumPlan()), testing::HasSubstr("\nd1 <= 128: 4 threads per row, lanes 8, turns 4,"));
}

// Where there are many such rows, a block for each has all of its row under way at once.
TEST(ScheduleCudaLoops, ManyLongRowsThatAreOnlyReadAreNotShared) {
  KernelPlan plan = RowMinAndSumPlan();
  plan.buffers[0].dtype = DType::kF32;
  const std::string text = TextOf(plan);
  EXPECT_THAT(text,
              testing::StartsWith("d1 >= 8193 and d1 <= 32768 and d0 >= 32: 512 threads per row, lanes 4, turns 16,"));
  EXPECT_THAT(text, testing::HasSubstr("\nd1 >= 8192 and d0 <= 256: 256 threads per part of a row"));
  EXPECT_THAT(TextOf(RowSoftmaxPlan()), testing::Not(testing::HasSubstr("turns 16")));
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
}  // namespace tailor::cuda
