// Which kernels a matmul on a GPU has, and when each runs.
#include "codegen/cuda/schedule/schedule_matmul.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/ptx/target.h"
#include "codegen/cuda/schedule/rank_versions.h"
#include "codegen/cuda/schedule/verify_cuda_schedule.h"
#include "tests/codegen/plan/matmul_case.h"

namespace tailor::cuda {
namespace {

using testing::Each;
using testing::HasSubstr;

// The versions whose blocks share tiles, or the others.
std::string TextOf(const MatmulCaseForm& form, const char* target = "sm_80", bool shared = false) {
  TargetTraits traits = FindCudaTarget(target)->traits;
  traits.tf32_matmuls = form.tf32;
  auto schedule = ScheduleOnCuda(MakeMatmulPlan(form), traits);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  std::erase_if(schedule->versions, [&](const CudaVersion& version) { return version.cooperative != shared; });
  return "\n" + schedule->Text() + "\n";
}

TEST(ScheduleCudaMatmul, TypesOfTensorCores) {
  EXPECT_EQ(TextOf({.dtype = DType::kBF16}), R"(
[
  {version {guards [d0 <= 8]}, shape matmul_tile, tile {kind matrix_stream, rows 8, columns 32, depth 64, part_rows 8, part_columns 32, stages 0, slices 8, pass_rows 8, resident_blocks 2}, blocks floordiv(d0 + 7, 8)*floordiv(d1 + 31, 32), resident_blocks 2, shared_bytes 9216},
  {version {guards [d0 <= 16]}, shape matmul_tile, tile {kind matrix_stream, rows 16, columns 32, depth 64, part_rows 16, part_columns 32, stages 0, slices 8, pass_rows 16, resident_blocks 2}, blocks floordiv(d0 + 15, 16)*floordiv(d1 + 31, 32), resident_blocks 2, shared_bytes 18432},
  {shape matmul_tile, lanes 8, lane_axis 1, tile {kind matrix, rows 128, columns 128, depth 32, part_rows 64, part_columns 32, stages 3, resident_blocks 1}, blocks floordiv(d0 + 127, 128)*floordiv(d1 + 127, 128), resident_blocks 1, shared_bytes 49152, clocks 542*floordiv(floordiv(d0 + 127, 128)*floordiv(d1 + 127, 128) - 1, workers)*floordiv(d2 + 31, 32) + 2536*floordiv(floordiv(d0 + 127, 128)*floordiv(d1 + 127, 128) - 1, workers) + 542*floordiv(d2 + 31, 32) + 2536},
  {shape matmul_tile, threads 128, lanes 8, lane_axis 1, tile {kind matrix, depth 32, part_rows 32, part_columns 32, stages 4, resident_blocks 3}, blocks floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64), resident_blocks 3, shared_bytes 32768, clocks 222*floordiv(floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64) - 1, workers)*floordiv(d2 + 31, 32) + 1384*floordiv(floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64) - 1, workers) + 222*floordiv(d2 + 31, 32) + 1384}]
)");
}

// Where K may be no whole units of 16 bytes, four warps copy.
TEST(ScheduleCudaMatmul, Warpgroups) {
  EXPECT_EQ(TextOf({.dtype = DType::kF16, .m = 4096}, "sm_90a"), R"(
[
  {version {guards [d1 mod 8 == 0]}, shape matmul_tile, threads 288, lanes 8, lane_axis 1, tile {kind warpgroup, rows 128, columns 256, depth 64, part_rows 64, part_columns 256, stages 4, resident_blocks 1, copying_warps 1, rounds_sums}, blocks 32*floordiv(d0 + 255, 256), resident_blocks 1, persistent, shared_bytes 230464, maps [
  {address 1, factors [
  {number 128},
  {dim 1, slot 4, number 8},
  {dim 2, slot 3, number 16}], box [128, 8, 16]},
  {factors [
  {slot 4},
  {dim 2, number 4096}], box [64, 1, 128], swizzle_bytes 128}], clocks floordiv(d1 + 63, 64)*floordiv(32*floordiv(d0 + 255, 256) - 1, workers)*max(floordiv(344*min(workers, 32*floordiv(d0 + 255, 256)), 725) + 8*min(workers, 32*floordiv(d0 + 255, 256)), 1024) + 30*floordiv(d1 + 63, 64)*floordiv(32*floordiv(d0 + 255, 256) - 1, workers) + floordiv(d1 + 63, 64)*max(floordiv(344*min(workers, 32*floordiv(d0 + 255, 256)), 725) + 8*min(workers, 32*floordiv(d0 + 255, 256)), 1024) + 30*floordiv(d1 + 63, 64) + 3560*floordiv(32*floordiv(d0 + 255, 256) - 1, workers) + 3560},
  {version {guards [d1 mod 8 == 0]}, shape matmul_tile, threads 288, lanes 8, lane_axis 1, tile {kind warpgroup, rows 128, columns 128, depth 64, part_rows 64, part_columns 128, stages 6, pass_rows 128, resident_blocks 1, copying_warps 1, rounds_sums}, blocks 32*floordiv(d0 + 127, 128), resident_blocks 1, persistent, shared_bytes 231520, maps [
  {address 1, factors [
  {number 128},
  {dim 1, slot 4, number 8},
  {dim 2, slot 3, number 16}], box [128, 8, 8]},
  {factors [
  {slot 4},
  {dim 2, number 4096}], box [64, 1, 128], swizzle_bytes 128}], clocks floordiv(d1 + 63, 64)*floordiv(32*floordiv(d0 + 127, 128) - 1, workers)*max(floordiv(471*min(workers, 32*floordiv(d0 + 127, 128)), 725) + 5*min(workers, 32*floordiv(d0 + 127, 128)), 512) + 30*floordiv(d1 + 63, 64)*floordiv(32*floordiv(d0 + 127, 128) - 1, workers) + floordiv(d1 + 63, 64)*max(floordiv(471*min(workers, 32*floordiv(d0 + 127, 128)), 725) + 5*min(workers, 32*floordiv(d0 + 127, 128)), 512) + 30*floordiv(d1 + 63, 64) + 2280*floordiv(32*floordiv(d0 + 127, 128) - 1, workers) + 2280},
  {version {guards [d1 mod 8 == 0]}, shape matmul_tile, threads 160, lanes 8, lane_axis 1, tile {kind warpgroup, columns 128, depth 64, part_rows 64, part_columns 128, stages 8, resident_blocks 1, copying_warps 1, rounds_sums}, blocks 64*floordiv(d0 + 127, 128), resident_blocks 1, persistent, shared_bytes 214144, maps [
  {address 1, factors [
  {number 128},
  {dim 1, slot 4, number 8},
  {dim 2, slot 3, number 16}], box [128, 8, 8]},
  {factors [
  {slot 4},
  {dim 2, number 4096}], box [64, 1, 64], swizzle_bytes 128}], clocks floordiv(d1 + 63, 64)*floordiv(64*floordiv(d0 + 127, 128) - 1, workers)*max(floordiv(172*min(workers, 64*floordiv(d0 + 127, 128)), 725) + 4*min(workers, 64*floordiv(d0 + 127, 128)), 372) + 30*floordiv(d1 + 63, 64)*floordiv(64*floordiv(d0 + 127, 128) - 1, workers) + floordiv(d1 + 63, 64)*max(floordiv(172*min(workers, 64*floordiv(d0 + 127, 128)), 725) + 4*min(workers, 64*floordiv(d0 + 127, 128)), 372) + 30*floordiv(d1 + 63, 64) + 2280*floordiv(64*floordiv(d0 + 127, 128) - 1, workers) + 2280},
  {version {guards [d1 mod 8 == 0]}, shape matmul_tile, threads 160, lanes 8, lane_axis 1, tile {kind warpgroup, depth 64, part_rows 64, part_columns 64, stages 12, resident_blocks 1, copying_warps 1, rounds_sums}, blocks 64*floordiv(d0 + 63, 64), resident_blocks 1, persistent, shared_bytes 206016, maps [
  {address 1, factors [
  {number 128},
  {dim 1, slot 4, number 8},
  {dim 2, slot 3, number 16}], box [128, 8, 4]},
  {factors [
  {slot 4},
  {dim 2, number 4096}], box [64, 1, 64], swizzle_bytes 128}], clocks floordiv(d1 + 63, 64)*floordiv(64*floordiv(d0 + 63, 64) - 1, workers)*max(floordiv(598*min(workers, 64*floordiv(d0 + 63, 64)), 725) + 2*min(workers, 64*floordiv(d0 + 63, 64)), 248) + 30*floordiv(d1 + 63, 64)*floordiv(64*floordiv(d0 + 63, 64) - 1, workers) + floordiv(d1 + 63, 64)*max(floordiv(598*min(workers, 64*floordiv(d0 + 63, 64)), 725) + 2*min(workers, 64*floordiv(d0 + 63, 64)), 248) + 30*floordiv(d1 + 63, 64) + 1640*floordiv(64*floordiv(d0 + 63, 64) - 1, workers) + 1640},
  {version {guards [d1 mod 8 == 0]}, shape matmul_tile, threads 160, lanes 8, lane_axis 1, tile {kind warpgroup, columns 32, depth 64, part_rows 64, part_columns 32, stages 16, resident_blocks 1, copying_warps 1, rounds_sums}, blocks 64*floordiv(d0 + 31, 32), resident_blocks 1, persistent, shared_bytes 201984, maps [
  {address 1, factors [
  {number 128},
  {dim 1, slot 4, number 8},
  {dim 2, slot 3, number 16}], box [128, 8, 2]},
  {factors [
  {slot 4},
  {dim 2, number 4096}], box [64, 1, 64], swizzle_bytes 128}], clocks floordiv(d1 + 63, 64)*floordiv(64*floordiv(d0 + 31, 32) - 1, workers)*max(floordiv(86*min(workers, 64*floordiv(d0 + 31, 32)), 725) + 2*min(workers, 64*floordiv(d0 + 31, 32)), 186) + 30*floordiv(d1 + 63, 64)*floordiv(64*floordiv(d0 + 31, 32) - 1, workers) + floordiv(d1 + 63, 64)*max(floordiv(86*min(workers, 64*floordiv(d0 + 31, 32)), 725) + 2*min(workers, 64*floordiv(d0 + 31, 32)), 186) + 30*floordiv(d1 + 63, 64) + 1320*floordiv(64*floordiv(d0 + 31, 32) - 1, workers) + 1320},
  {shape matmul_tile, threads 384, lanes 8, lane_axis 1, tile {kind warpgroup, rows 128, columns 128, depth 64, part_rows 64, part_columns 128, stages 6, pass_rows 128, resident_blocks 1, copying_warps 4, rounds_sums}, blocks 32*floordiv(d0 + 127, 128), resident_blocks 1, persistent, shared_bytes 231520, maps [
  {address 1, factors [
  {number 16},
  {dim 1, slot 4},
  {dim 2, slot 3, number 16}], box [16, 64, 8]},
  {factors [
  {slot 4},
  {dim 2, number 4096}], box [64, 1, 128], swizzle_bytes 128}], clocks floordiv(d1 + 63, 64)*floordiv(32*floordiv(d0 + 127, 128) - 1, workers)*max(floordiv(471*min(workers, 32*floordiv(d0 + 127, 128)), 725) + 5*min(workers, 32*floordiv(d0 + 127, 128)), 512) + 30*floordiv(d1 + 63, 64)*floordiv(32*floordiv(d0 + 127, 128) - 1, workers) + floordiv(d1 + 63, 64)*max(floordiv(471*min(workers, 32*floordiv(d0 + 127, 128)), 725) + 5*min(workers, 32*floordiv(d0 + 127, 128)), 512) + 30*floordiv(d1 + 63, 64) + 2280*floordiv(32*floordiv(d0 + 127, 128) - 1, workers) + 2280},
  {shape matmul_tile, lanes 8, lane_axis 1, tile {kind warpgroup, depth 64, part_rows 64, part_columns 64, stages 12, resident_blocks 1, copying_warps 4, rounds_sums}, blocks 64*floordiv(d0 + 63, 64), resident_blocks 1, persistent, shared_bytes 206016, maps [
  {address 1, factors [
  {number 16},
  {dim 1, slot 4},
  {dim 2, slot 3, number 16}], box [16, 64, 4]},
  {factors [
  {slot 4},
  {dim 2, number 4096}], box [64, 1, 64], swizzle_bytes 128}], clocks floordiv(d1 + 63, 64)*floordiv(64*floordiv(d0 + 63, 64) - 1, workers)*max(floordiv(598*min(workers, 64*floordiv(d0 + 63, 64)), 725) + 2*min(workers, 64*floordiv(d0 + 63, 64)), 248) + 30*floordiv(d1 + 63, 64)*floordiv(64*floordiv(d0 + 63, 64) - 1, workers) + floordiv(d1 + 63, 64)*max(floordiv(598*min(workers, 64*floordiv(d0 + 63, 64)), 725) + 2*min(workers, 64*floordiv(d0 + 63, 64)), 248) + 30*floordiv(d1 + 63, 64) + 1640*floordiv(64*floordiv(d0 + 63, 64) - 1, workers) + 1640}]
)");
  EXPECT_EQ(
      TextOf({.dtype = DType::kBF16, .m = 4096, .n = 4096, .k = 4096, .pairs = false}, "sm_90a").find("matrix 128"),
      std::string::npos);
}

TEST(ScheduleCudaMatmul, OtherTypes) {
  EXPECT_EQ(TextOf({.dtype = DType::kF32}), R"(
[
  {version {guards [d0 <= 1]}, shape matmul_tile, tile {kind panel_stream, rows 1, columns 16, depth 4, part_rows 1, stages 0, slices 64, pass_rows 1, resident_blocks 2}, blocks d0*floordiv(d1 + 15, 16), resident_blocks 2, shared_bytes 5120},
  {version {guards [d0 <= 4]}, shape matmul_tile, tile {kind panel_stream, rows 4, columns 16, depth 4, stages 0, slices 64, pass_rows 4, resident_blocks 2}, blocks floordiv(d0 + 3, 4)*floordiv(d1 + 15, 16), resident_blocks 2, shared_bytes 20480},
  {version {guards [d0 <= 16]}, shape matmul_tile, tile {kind panel_stream, rows 16, columns 16, depth 2, part_rows 16, stages 0, slices 64, pass_rows 8, resident_blocks 1}, blocks floordiv(d0 + 15, 16)*floordiv(d1 + 15, 16), resident_blocks 1, shared_bytes 40960},
  {shape matmul_tile, tile {rows 128, columns 128, part_rows 8, part_columns 8, resident_blocks 1}, blocks floordiv(d0 + 127, 128)*floordiv(d1 + 127, 128), resident_blocks 1, shared_bytes 33792, clocks 4126*floordiv(floordiv(d0 + 127, 128)*floordiv(d1 + 127, 128) - 1, workers)*floordiv(d2 + 15, 16) + 2536*floordiv(floordiv(d0 + 127, 128)*floordiv(d1 + 127, 128) - 1, workers) + 4126*floordiv(d2 + 15, 16) + 2536},
  {shape matmul_tile, tile {resident_blocks 1}, blocks floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64), resident_blocks 1, shared_bytes 17408, clocks 1054*floordiv(floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64) - 1, workers)*floordiv(d2 + 15, 16) + 1384*floordiv(floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64) - 1, workers) + 1054*floordiv(d2 + 15, 16) + 1384}]
)");
  EXPECT_EQ(TextOf({.dtype = DType::kF64}), R"(
[
  {version {guards [d0 <= 1]}, shape matmul_tile, tile {kind panel_stream, rows 1, columns 16, depth 4, part_rows 1, part_columns 2, stages 0, slices 32, pass_rows 1, resident_blocks 2}, blocks d0*floordiv(d1 + 15, 16), resident_blocks 2, shared_bytes 5120},
  {version {guards [d0 <= 4]}, shape matmul_tile, tile {kind panel_stream, rows 4, columns 16, depth 4, part_columns 2, stages 0, slices 32, pass_rows 4, resident_blocks 2}, blocks floordiv(d0 + 3, 4)*floordiv(d1 + 15, 16), resident_blocks 2, shared_bytes 20480},
  {version {guards [d0 <= 16]}, shape matmul_tile, tile {kind panel_stream, rows 16, columns 16, depth 2, part_rows 16, part_columns 2, stages 0, slices 32, pass_rows 8, resident_blocks 1}, blocks floordiv(d0 + 15, 16)*floordiv(d1 + 15, 16), resident_blocks 1, shared_bytes 40960},
  {shape matmul_tile, tile {resident_blocks 1}, blocks floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64), resident_blocks 1, shared_bytes 34816, clocks 4126*floordiv(floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64) - 1, workers)*floordiv(d2 + 15, 16) + 1768*floordiv(floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64) - 1, workers) + 4126*floordiv(d2 + 15, 16) + 1768}]
)");
}

TEST(ScheduleCudaMatmul, WhereBlocksShareTiles) {
  EXPECT_EQ(TextOf({.dtype = DType::kBF16, .m = 512, .n = 512}, "sm_80", true), R"(
[
  {shape matmul_tile, lanes 8, lane_axis 1, tile {kind matrix, rows 128, columns 128, depth 32, part_rows 64, part_columns 32, stages 3, resident_blocks 1}, blocks 16*max(floordiv(d0 + 31, 32), 1), resident_blocks 1, persistent, cooperative, parts max(floordiv(d0 + 1023, 1024), 8), shared_bytes 49152, scratch_bytes 65536*workers + 65536*min(workers, 16), clocks max(floordiv(8672*floordiv(d0 + 31, 32) + 40576, workers), 542*max(floordiv(d0 + 1023, 1024), 8)) + 8577},
  {shape matmul_tile, threads 128, lanes 8, lane_axis 1, tile {kind matrix, depth 32, part_rows 32, part_columns 32, stages 4, resident_blocks 3}, blocks 64*max(floordiv(d0 + 31, 32), 1), resident_blocks 3, persistent, cooperative, parts max(floordiv(d0 + 1023, 1024), 8), shared_bytes 32768, scratch_bytes 49152*workers + 16384*min(3*workers, 64), clocks max(floordiv(14208*floordiv(d0 + 31, 32) + 88576, workers), 222*max(floordiv(d0 + 1023, 1024), 8)) + 7183}]
)");
  EXPECT_EQ(TextOf({.dtype = DType::kBF16, .m = 512, .n = 512}, "sm_90a", true), R"(
[
  {version {guards [d0 mod 8 == 0]}, shape matmul_tile, threads 288, tile {kind warpgroup, rows 128, columns 128, depth 64, part_rows 64, part_columns 128, stages 6, resident_blocks 1, copying_warps 1}, blocks 16*max(floordiv(d0 + 63, 64), 1), resident_blocks 1, persistent, cooperative, parts max(floordiv(d0 + 2047, 2048), 4), shared_bytes 231520, scratch_bytes 65536*workers + 65536*min(workers, 16), maps [
  {address 1, factors [
  {number 128},
  {dim 1, slot 3, number 8},
  {dim 2, number 32}], box [128, 8, 8]},
  {factors [
  {slot 3},
  {dim 2, number 512}], box [64, 1, 128], swizzle_bytes 128}], clocks max(max(5*workers + floordiv(471*workers, 725), 512)*max(floordiv(d0 + 2047, 2048), 4) + 30*max(floordiv(d0 + 2047, 2048), 4), floordiv(16*floordiv(d0 + 63, 64)*max(5*workers + floordiv(471*workers, 725), 512) + 480*floordiv(d0 + 63, 64) + 36480, workers)) + 33000},
  {shape matmul_tile, threads 384, tile {kind warpgroup, rows 128, columns 128, depth 64, part_rows 64, part_columns 128, stages 6, resident_blocks 1, copying_warps 4}, blocks 16*max(floordiv(d0 + 63, 64), 1), resident_blocks 1, persistent, cooperative, parts max(floordiv(d0 + 2047, 2048), 4), shared_bytes 231520, scratch_bytes 65536*workers + 65536*min(workers, 16), maps [
  {address 1, factors [
  {number 16},
  {dim 1, slot 3},
  {dim 2, number 32}], box [16, 64, 8]},
  {factors [
  {slot 3},
  {dim 2, number 512}], box [64, 1, 128], swizzle_bytes 128}], clocks max(max(5*workers + floordiv(471*workers, 725), 512)*max(floordiv(d0 + 2047, 2048), 4) + 30*max(floordiv(d0 + 2047, 2048), 4), floordiv(16*floordiv(d0 + 63, 64)*max(5*workers + floordiv(471*workers, 725), 512) + 480*floordiv(d0 + 63, 64) + 36480, workers)) + 33000}]
)");
  EXPECT_EQ(TextOf({.dtype = DType::kF32, .m = 512, .n = 512}, "sm_80", true), R"(
[
  {shape matmul_tile, tile {rows 128, columns 128, part_rows 8, part_columns 8, resident_blocks 1}, blocks 16*max(floordiv(d0 + 15, 16), 1), resident_blocks 1, persistent, cooperative, parts max(floordiv(d0 + 511, 512), 16), shared_bytes 33792, scratch_bytes 65536*workers + 65536*min(workers, 16), clocks max(floordiv(66016*floordiv(d0 + 15, 16) + 40576, workers), 4126*max(floordiv(d0 + 511, 512), 16)) + 8577},
  {shape matmul_tile, tile {resident_blocks 1}, blocks 64*max(floordiv(d0 + 15, 16), 1), resident_blocks 1, persistent, cooperative, parts max(floordiv(d0 + 511, 512), 16), shared_bytes 17408, scratch_bytes 16384*workers + 16384*min(workers, 64), clocks max(floordiv(67456*floordiv(d0 + 15, 16) + 88576, workers), 1054*max(floordiv(d0 + 511, 512), 16)) + 4394}]
)");
}

// Of few rows they stay f32.
TEST(ScheduleCudaMatmul, F32OnTensorCores) {
  EXPECT_EQ(TextOf({.tf32 = true}), R"(
[
  {version {guards [d0 <= 1]}, shape matmul_tile, tile {kind panel_stream, rows 1, columns 16, depth 4, part_rows 1, stages 0, slices 64, pass_rows 1, resident_blocks 2}, blocks d0*floordiv(d1 + 15, 16), resident_blocks 2, shared_bytes 5120},
  {version {guards [d0 <= 4]}, shape matmul_tile, tile {kind panel_stream, rows 4, columns 16, depth 4, stages 0, slices 64, pass_rows 4, resident_blocks 2}, blocks floordiv(d0 + 3, 4)*floordiv(d1 + 15, 16), resident_blocks 2, shared_bytes 20480},
  {version {guards [d0 <= 16]}, shape matmul_tile, tile {kind panel_stream, rows 16, columns 16, depth 2, part_rows 16, stages 0, slices 64, pass_rows 8, resident_blocks 1}, blocks floordiv(d0 + 15, 16)*floordiv(d1 + 15, 16), resident_blocks 1, shared_bytes 40960},
  {shape matmul_tile, lanes 4, lane_axis 1, tile {kind matrix, rows 128, columns 128, part_rows 64, part_columns 32, stages 3, resident_blocks 1}, blocks floordiv(d0 + 127, 128)*floordiv(d1 + 127, 128), resident_blocks 1, shared_bytes 49152, clocks 542*floordiv(floordiv(d0 + 127, 128)*floordiv(d1 + 127, 128) - 1, workers)*floordiv(d2 + 15, 16) + 2536*floordiv(floordiv(d0 + 127, 128)*floordiv(d1 + 127, 128) - 1, workers) + 542*floordiv(d2 + 15, 16) + 2536},
  {shape matmul_tile, threads 128, lanes 4, lane_axis 1, tile {kind matrix, part_rows 32, part_columns 32, stages 4, resident_blocks 3}, blocks floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64), resident_blocks 3, shared_bytes 32768, clocks 222*floordiv(floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64) - 1, workers)*floordiv(d2 + 15, 16) + 1384*floordiv(floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64) - 1, workers) + 222*floordiv(d2 + 15, 16) + 1384}]
)");
  EXPECT_EQ(TextOf({.dtype = DType::kF64, .tf32 = true}), TextOf({.dtype = DType::kF64}));
}

// Clocks of no tiles are constants, which say nothing of versions for few rows.
TEST(ScheduleCudaMatmul, NoColumnsLeaveAVersionForAllRows) {
  for (const char* target : {"sm_80", "sm_90a"}) {
    for (DType dtype : {DType::kF32, DType::kBF16}) {
      const KernelPlan plan = MakeMatmulPlan({.dtype = dtype, .n = 0, .k = 0});
      const auto schedule = ScheduleOnCuda(plan, FindCudaTarget(target)->traits);
      ASSERT_TRUE(schedule.ok()) << schedule.status();
      EXPECT_EQ(VerifyCudaSchedule(plan, *schedule), absl::OkStatus()) << schedule->Text();
    }
  }
}

TEST(ScheduleCudaMatmul, KnownDimSizesLeaveVersionsOut) {
  EXPECT_EQ(TextOf({.dtype = DType::kBF16, .m = 8, .n = 4096}), R"(
[
  {shape matmul_tile, tile {kind matrix_stream, rows 8, columns 32, depth 64, part_rows 8, part_columns 32, stages 0, slices 8, pass_rows 8, resident_blocks 2}, blocks 128, resident_blocks 2, shared_bytes 9216}]
)");
  // One tile or two on as many multiprocessors: never the large one, which is half empty.
  EXPECT_EQ(TextOf({.dtype = DType::kBF16, .m = 128, .n = 64, .k = 1024}), R"(
[
  {shape matmul_tile, threads 128, lanes 8, lane_axis 1, tile {kind matrix, depth 32, part_rows 32, part_columns 32, stages 4, resident_blocks 3}, blocks 2, resident_blocks 3, shared_bytes 32768, clocks 8488*floordiv(1, workers) + 8488}]
)");
}

// Few rows are streamed by blocks that share tiles where columns make few of them and K is long.
TEST(ScheduleCudaMatmul, StreamsAreSharedWhereTilesAreFew) {
  const auto is_shared = [](int64_t m, int64_t k, int64_t n, int64_t processors) {
    const MatmulCaseForm form{.dtype = DType::kBF16, .m = m, .n = n, .k = k};
    const CudaSchedule schedule = *ScheduleOnCuda(MakeMatmulPlan(form), FindCudaTarget("sm_80")->traits);
    if (!schedule.versions[0].cooperative) return false;
    const std::vector<Guard>& guards = schedule.versions[0].version.guards;
    EXPECT_EQ(guards.size(), 1);
    return *guards[0].value.WithWorkers(processors).constant() >= guards[0].number;
  };
  EXPECT_TRUE(is_shared(16, 500000, 512, 132));
  EXPECT_TRUE(is_shared(4, 500000, 1024, 132));
  EXPECT_FALSE(is_shared(4, 500000, 1024, 16));
  EXPECT_FALSE(is_shared(16, 1760, 1760, 132));  // no longer than a meeting takes
  EXPECT_FALSE(is_shared(16, 2816, 8448, 132));  // the memory's bandwidth decides
  EXPECT_EQ(TextOf({.dtype = DType::kBF16, .m = 8, .n = 32, .k = 65536}, "sm_80", true), R"(
[
  {version {guards [-4*max(floordiv(4194304, 12*workers), 5957) + 3*max(floordiv(4194304, 12*workers), 190650) - 13000 >= 0]}, shape matmul_tile, tile {kind matrix_stream, rows 8, columns 32, depth 64, part_rows 8, part_columns 32, stages 0, slices 8, pass_rows 8, resident_blocks 1}, blocks 1024, resident_blocks 1, persistent, cooperative, parts 32, shared_bytes 9216, scratch_bytes 1024*workers + 1024*min(workers, 1)}]
)");
}

// The tile for which the clocks are fewest (codegen/host/emit/emit_host.h).
std::string Cheapest(const MatmulCaseForm& form, int64_t processors) {
  auto schedule = ScheduleOnCuda(MakeMatmulPlan(form), FindCudaTarget("sm_80")->traits);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  int64_t least = INT64_MAX;
  std::string tile;
  for (const CudaVersion& version : schedule->versions) {
    const int64_t clocks = *version.clocks.WithWorkers(processors).constant();
    if (clocks >= least) continue;
    least = clocks;
    tile = version.tile.Text().substr(0, version.tile.Text().find(" by")) + (version.cooperative ? " shared" : "");
  }
  return tile;
}

// 16 x 500,000 x 512 without its stream takes four times as long.
TEST(ScheduleCudaMatmul, StreamsOutliveTilesThatOthersReplace) {
  const CudaTarget target = *FindCudaTarget("sm_90a");
  const KernelPlan plan = MakeMatmulPlan({.dtype = DType::kBF16, .n = 512, .k = 500'000});
  const CudaSchedule all = *ScheduleOnCuda(plan, target.traits);
  CudaSchedule kept = all;
  std::vector<std::string> dropped;
  DropByClocks(plan, 8, kept, dropped);
  ASSERT_GT(all.versions.size(), 8u);
  EXPECT_EQ(kept.versions.size(), 8u);
  EXPECT_EQ(dropped.size(), all.versions.size() - 8);
  EXPECT_THAT(dropped, Each(HasSubstr("(more than 8 versions)")));
  const auto is_stream = [](const CudaVersion& v) { return v.tile.kind == MatmulTile::Kind::kMmaStream; };
  EXPECT_EQ(std::count_if(kept.versions.begin(), kept.versions.end(), is_stream),
            std::count_if(all.versions.begin(), all.versions.end(), is_stream));
  // Nothing takes the place of the largest tile for many rows, nor of the shared one for few.
  EXPECT_TRUE(std::any_of(kept.versions.begin(), kept.versions.end(), [](const CudaVersion& v) {
    return v.tile.kind == MatmulTile::Kind::kWarpgroup && v.tile.columns == 256;
  }));
  EXPECT_TRUE(std::any_of(kept.versions.begin(), kept.versions.end(), [](const CudaVersion& v) {
    return v.tile.kind == MatmulTile::Kind::kWarpgroup && v.cooperative;
  }));
  EXPECT_TRUE(kept.versions.back().version.guards.empty());
  DropByClocks(plan, 1, kept, dropped);  // what has no clocks is BoundVersions' to drop
  EXPECT_TRUE(kept.versions.back().version.guards.empty());
  EXPECT_EQ(std::count_if(kept.versions.begin(), kept.versions.end(), is_stream) + 1,
            static_cast<int>(kept.versions.size()));
}

TEST(ScheduleCudaMatmul, TurnsOfAllMultiprocessorsDecide) {
  const auto tile = [](int64_t m, int64_t n, int64_t processors, int64_t k = 1024) {
    return Cheapest({.dtype = DType::kBF16, .m = m, .n = n, .k = k}, processors);
  };
  EXPECT_EQ(tile(4096, 3456, 108), "matrix 128x128x32");  // eight whole turns
  EXPECT_EQ(tile(256, 256, 108), "matrix 64x64x32");
  EXPECT_EQ(tile(256, 256, 108, 8192), "matrix 128x128x32 shared");
  // 81 large tiles are one turn, which leaves a quarter idle, and 324 small ones three.
  EXPECT_EQ(tile(1152, 1152, 108), "matrix 128x128x32");
  // 110 large tiles are two turns, of which the second is all but idle, unless blocks share it.
  EXPECT_EQ(tile(1408, 1280, 108), "matrix 128x128x32 shared");
  EXPECT_EQ(tile(1408, 1280, 220), "matrix 64x64x32");
}

TEST(ScheduleCudaMatmul, NoBlockTakesMoreSharedMemoryThanItHas) {
  for (DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    for (bool transposed : {false, true}) {
      const CudaTarget target = *FindCudaTarget("sm_80");
      const MatmulCaseForm form{.dtype = dtype, .transpose_out = transposed};
      const CudaSchedule schedule = *ScheduleOnCuda(MakeMatmulPlan(form), target.traits);
      for (const CudaVersion& version : schedule.versions) {
        EXPECT_LE(*version.shared_bytes.constant(), target.traits.regional_bytes) << version.Text();
        EXPECT_EQ(version.threads % kWarp, 0) << version.Text();
      }
    }
  }
}

TEST(ScheduleCudaMatmul, ChainsAreRefused) {
  KernelPlan plan;
  plan.name = "chain";
  plan.form = ChainForm();
  const absl::Status status = ScheduleOnCuda(plan, FindCudaTarget("sm_80")->traits).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(), "kernel chain: a chain of kernels has no GPU form");
}

}  // namespace
}  // namespace tailor::cuda
