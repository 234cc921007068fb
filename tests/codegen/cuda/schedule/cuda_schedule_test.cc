#include "codegen/cuda/schedule/cuda_schedule.h"

#include "codegen/cuda/ptx/target.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/plan/loop_plans.h"

namespace tailor::cuda {
namespace {

std::string TextOf(const KernelPlan& plan) {
  return "\n" + ScheduleCudaLoops(plan, FindCudaTarget("sm_80")->traits).Text() + "\n";
}

// "d0 >= 32: 512 threads per row, lanes 4", a line each.
std::string ShapesOf(const KernelPlan& plan) {
  std::string lines = "\n";
  for (const CudaVersion& version : ScheduleCudaLoops(plan, FindCudaTarget("sm_80")->traits).versions) {
    lines += VersionText(version.version) + ": " + version.ShapeText() + "\n";
  }
  return lines;
}

TEST(ScheduleCudaLoops, ElementwiseHasAThreadPerFourElements) {
  EXPECT_EQ(TextOf(BiasTanhPlan()), R"(
[
  {lanes 4, lane_axis 1, blocks min(floordiv(d0*d1 + 1023, 1024), 4096)}]
)");
}

TEST(ScheduleCudaLoops, LongerRowsHaveMoreThreadsAndLeaveSharedMemory) {
  EXPECT_EQ(TextOf(RowSoftmaxPlan()), R"(
[
  {version {guards [d1 >= 8192, d0 <= 256]}, shape rows, lanes 4, lane_axis 1, blocks min(d0*min(floordiv(d1 + 4095, 4096), floordiv(4096, max(d0, 1))), 65536), resident_blocks 4, persistent, cooperative, parts min(floordiv(d1 + 4095, 4096), floordiv(4096, max(d0, 1))), shared_bytes 64, partial_bytes 64, scratch_bytes 64*d0*floordiv(d1 + 15, 16) + 16*d0*min(floordiv(d1 + 4095, 4096), floordiv(4096, max(d0, 1)))},
  {version {guards [d1 <= 64]}, shape rows, threads 128, row_threads 8, lanes 4, lane_axis 1, vectors_per_thread 2, blocks min(floordiv(d0 + 15, 16), 65536), shared_bytes 1024*floordiv(d1 + 15, 16), rows_in_shared},
  {version {guards [d1 <= 256]}, shape rows, threads 128, row_threads 32, lanes 4, lane_axis 1, vectors_per_thread 2, blocks min(floordiv(d0 + 3, 4), 65536), shared_bytes 256*floordiv(d1 + 15, 16), rows_in_shared},
  {version {guards [d1 <= 1024]}, shape rows, threads 128, row_threads 32, lanes 4, lane_axis 1, vectors_per_thread 8, blocks min(floordiv(d0 + 3, 4), 65536), shared_bytes 256*floordiv(d1 + 15, 16), rows_in_shared},
  {version {guards [d1 <= 8192]}, shape rows, lanes 4, lane_axis 1, blocks min(d0, 65536), shared_bytes 64*floordiv(d1 + 15, 16) + 64, rows_in_shared, partial_bytes 64},
  {version {guards [d1 <= 25312]}, shape rows, threads 512, row_threads 512, lanes 4, lane_axis 1, blocks min(d0, 65536), shared_bytes 64*floordiv(d1 + 15, 16) + 128, rows_in_shared, partial_bytes 128},
  {shape rows, lanes 4, lane_axis 1, blocks min(d0, 512), shared_bytes 64, partial_bytes 64, scratch_bytes 64*floordiv(d1 + 15, 16)}]
)");
}

// 1,000,000 elements in all: 245 parts of one row, whatever the GPU.
TEST(ScheduleCudaLoops, OneLongRowIsShared) {
  KernelPlan plan = RowSoftmaxPlan();
  for (Buffer& buffer : plan.buffers) {
    for (DimSize& dim_size : buffer.dims) dim_size = dim_size.slot == 0 ? DimSize{1} : DimSize{1000000};
  }
  plan.axes[0].dim_size = DimSize{1};
  plan.axes[1].dim_size = DimSize{1000000};
  EXPECT_EQ(TextOf(plan), R"(
[
  {shape rows, lanes 4, lane_axis 1, blocks 245, resident_blocks 4, persistent, cooperative, parts 245, shared_bytes 64, partial_bytes 64, scratch_bytes 4003920}]
)");
}

TEST(ScheduleCudaLoops, ShortRowsNeedNoOtherVersion) {
  EXPECT_EQ(TextOf(RowSoftmaxPlan(/*max_columns=*/30)), R"(
[
  {shape rows, threads 128, row_threads 8, lanes 4, lane_axis 1, vectors_per_thread 2, blocks min(floordiv(d0 + 15, 16), 65536), shared_bytes 1024*floordiv(d1 + 15, 16), rows_in_shared}]
)");
}

TEST(ScheduleCudaLoops, ReductionsOverOuterDimsReadWholeLines) {
  EXPECT_EQ(TextOf(ColumnTotalPlan()), R"(
[
  {version {guards [d1 >= 256, floordiv(d0 + 31, 32) <= 256]}, shape columns, blocks min(floordiv(d0 + 31, 32)*min(floordiv(d1 + 127, 128), floordiv(4096, max(floordiv(d0 + 31, 32), 1))), 65536), resident_blocks 4, persistent, cooperative, parts min(floordiv(d1 + 127, 128), floordiv(4096, max(floordiv(d0 + 31, 32), 1))), shared_bytes 2048, partial_bytes 2048, scratch_bytes 256*floordiv(d0 + 31, 32)*min(floordiv(d1 + 127, 128), floordiv(4096, max(floordiv(d0 + 31, 32), 1)))},
  {shape columns, blocks min(floordiv(d0 + 31, 32), 65536), shared_bytes 2048, partial_bytes 2048}]
)");
  EXPECT_THAT(ShapesOf(RowMinAndSumPlan()),
              testing::HasSubstr("\nd1 <= 128: 4 threads per row, lanes 8, 4 vectors per thread\n"));
}

// Where there are many such rows, a block for each has all of its row under way at once.
TEST(ScheduleCudaLoops, ManyLongRowsThatAreOnlyReadAreNotShared) {
  KernelPlan plan = RowMinAndSumPlan();
  plan.buffers[0].dtype = DType::kF32;
  const std::string text = ShapesOf(plan);
  EXPECT_THAT(text,
              testing::StartsWith(
                  "\nd1 >= 8193 and d1 <= 32768 and d0 >= 32: 512 threads per row, lanes 4, 16 vectors per thread\n"));
  EXPECT_THAT(text, testing::HasSubstr("\nd1 >= 8192 and d0 <= 256: 256 threads per part of a row"));
  EXPECT_THAT(ShapesOf(RowSoftmaxPlan()), testing::Not(testing::HasSubstr("16 vectors per thread")));
}

TEST(ScheduleCudaLoops, LoadsAlongAnotherAxisThanStoresGoThroughTiles) {
  KernelPlan plan = BiasTanhPlan();
  for (Expr& e : plan.exprs) {
    if (e.kind == ExprKind::kLoad && e.ref == 0) std::swap(e.args[0], e.args[1]);
  }
  std::swap(plan.buffers[0].dims[0], plan.buffers[0].dims[1]);
  EXPECT_EQ(TextOf(plan), R"(
[
  {shape transposed, blocks min(floordiv(d0 + 31, 32)*floordiv(d1 + 31, 32), 65536), shared_bytes 4224}]
)");
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
