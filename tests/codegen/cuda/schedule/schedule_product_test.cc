// Which kernels a product on a GPU has, and when each runs.
#include "codegen/cuda/schedule/schedule_product.h"

#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/ptx/target.h"
#include "gtest/gtest.h"
#include "tests/codegen/plan/product_case.h"

namespace tailor::cuda {
namespace {

// The versions whose blocks share tiles, or the others.
std::string TextOf(const ProductForm& form, const char* target = "sm_80", bool shared = false) {
  TargetTraits traits = FindCudaTarget(target)->traits;
  traits.tf32_products = form.tf32;
  auto schedule = ScheduleOnCuda(MakeProductPlan(form), traits);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  std::erase_if(schedule->versions, [&](const CudaVersion& version) { return version.cooperative != shared; });
  return "\n" + schedule->Text();
}

TEST(ScheduleCudaProduct, TypesOfTensorCores) {
  EXPECT_EQ(TextOf({.dtype = DType::kBF16}), R"(
d0 <= 8: tile matrix stream 8x32x64 by 8x32 in 8 slices, threads 256, blocks floordiv(d0 + 7, 8)*floordiv(d1 + 31, 32), shared bytes 9216, scratch bytes 0
d0 <= 16: tile matrix stream 16x32x64 by 16x32 in 8 slices, threads 256, blocks floordiv(d0 + 15, 16)*floordiv(d1 + 31, 32), shared bytes 18432, scratch bytes 0
always: tile matrix 128x128x32 by 64x32 in 3 stages, threads 256, blocks floordiv(d0 + 127, 128)*floordiv(d1 + 127, 128), shared bytes 49152, scratch bytes 0, clocks 542*floordiv(floordiv(d0 + 127, 128)*floordiv(d1 + 127, 128) - 1, workers)*floordiv(d2 + 31, 32) + 2536*floordiv(floordiv(d0 + 127, 128)*floordiv(d1 + 127, 128) - 1, workers) + 542*floordiv(d2 + 31, 32) + 2536
always: tile matrix 64x64x32 by 32x32 in 4 stages, threads 128, blocks floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64), shared bytes 32768, scratch bytes 0, clocks 222*floordiv(floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64) - 1, workers)*floordiv(d2 + 31, 32) + 1384*floordiv(floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64) - 1, workers) + 222*floordiv(d2 + 31, 32) + 1384
)");
}

// Where K may be no whole units of 16 bytes, four warps copy.
TEST(ScheduleCudaProduct, Warpgroups) {
  EXPECT_EQ(TextOf({.dtype = DType::kF16, .m = 4096}, "sm_90a"), R"(
d1 mod 8 == 0: tile warpgroup 128x256x64 by 64x256 in 4 stages, 1 copying, threads 288, blocks 32*floordiv(d0 + 255, 256), shared bytes 230464, scratch bytes 0, clocks floordiv(d1 + 63, 64)*floordiv(32*floordiv(d0 + 255, 256) - 1, workers)*max(floordiv(344*min(workers, 32*floordiv(d0 + 255, 256)), 725) + 8*min(workers, 32*floordiv(d0 + 255, 256)), 1024) + 30*floordiv(d1 + 63, 64)*floordiv(32*floordiv(d0 + 255, 256) - 1, workers) + floordiv(d1 + 63, 64)*max(floordiv(344*min(workers, 32*floordiv(d0 + 255, 256)), 725) + 8*min(workers, 32*floordiv(d0 + 255, 256)), 1024) + 30*floordiv(d1 + 63, 64) + 11240*floordiv(32*floordiv(d0 + 255, 256) - 1, workers) + 11240
d1 mod 8 == 0: tile warpgroup 128x128x64 by 64x128 in 6 stages, 1 copying, threads 288, blocks 32*floordiv(d0 + 127, 128), shared bytes 231520, scratch bytes 0, clocks floordiv(d1 + 63, 64)*floordiv(32*floordiv(d0 + 127, 128) - 1, workers)*max(floordiv(471*min(workers, 32*floordiv(d0 + 127, 128)), 725) + 5*min(workers, 32*floordiv(d0 + 127, 128)), 512) + 30*floordiv(d1 + 63, 64)*floordiv(32*floordiv(d0 + 127, 128) - 1, workers) + floordiv(d1 + 63, 64)*max(floordiv(471*min(workers, 32*floordiv(d0 + 127, 128)), 725) + 5*min(workers, 32*floordiv(d0 + 127, 128)), 512) + 30*floordiv(d1 + 63, 64) + 2280*floordiv(32*floordiv(d0 + 127, 128) - 1, workers) + 2280
d1 mod 8 == 0: tile warpgroup 64x128x64 by 64x128 in 8 stages, 1 copying, threads 160, blocks 64*floordiv(d0 + 127, 128), shared bytes 231552, scratch bytes 0, clocks floordiv(d1 + 63, 64)*floordiv(64*floordiv(d0 + 127, 128) - 1, workers)*max(floordiv(172*min(workers, 64*floordiv(d0 + 127, 128)), 725) + 4*min(workers, 64*floordiv(d0 + 127, 128)), 372) + 30*floordiv(d1 + 63, 64)*floordiv(64*floordiv(d0 + 127, 128) - 1, workers) + floordiv(d1 + 63, 64)*max(floordiv(172*min(workers, 64*floordiv(d0 + 127, 128)), 725) + 4*min(workers, 64*floordiv(d0 + 127, 128)), 372) + 30*floordiv(d1 + 63, 64) + 2280*floordiv(64*floordiv(d0 + 127, 128) - 1, workers) + 2280
d1 mod 8 == 0: tile warpgroup 64x64x64 by 64x64 in 12 stages, 1 copying, threads 160, blocks 64*floordiv(d0 + 63, 64), shared bytes 215232, scratch bytes 0, clocks floordiv(d1 + 63, 64)*floordiv(64*floordiv(d0 + 63, 64) - 1, workers)*max(floordiv(598*min(workers, 64*floordiv(d0 + 63, 64)), 725) + 2*min(workers, 64*floordiv(d0 + 63, 64)), 248) + 30*floordiv(d1 + 63, 64)*floordiv(64*floordiv(d0 + 63, 64) - 1, workers) + floordiv(d1 + 63, 64)*max(floordiv(598*min(workers, 64*floordiv(d0 + 63, 64)), 725) + 2*min(workers, 64*floordiv(d0 + 63, 64)), 248) + 30*floordiv(d1 + 63, 64) + 1640*floordiv(64*floordiv(d0 + 63, 64) - 1, workers) + 1640
d1 mod 8 == 0: tile warpgroup 64x32x64 by 64x32 in 16 stages, 1 copying, threads 160, blocks 64*floordiv(d0 + 31, 32), shared bytes 207104, scratch bytes 0, clocks floordiv(d1 + 63, 64)*floordiv(64*floordiv(d0 + 31, 32) - 1, workers)*max(floordiv(86*min(workers, 64*floordiv(d0 + 31, 32)), 725) + 2*min(workers, 64*floordiv(d0 + 31, 32)), 186) + 30*floordiv(d1 + 63, 64)*floordiv(64*floordiv(d0 + 31, 32) - 1, workers) + floordiv(d1 + 63, 64)*max(floordiv(86*min(workers, 64*floordiv(d0 + 31, 32)), 725) + 2*min(workers, 64*floordiv(d0 + 31, 32)), 186) + 30*floordiv(d1 + 63, 64) + 1320*floordiv(64*floordiv(d0 + 31, 32) - 1, workers) + 1320
always: tile warpgroup 128x128x64 by 64x128 in 6 stages, 4 copying, threads 384, blocks 32*floordiv(d0 + 127, 128), shared bytes 231520, scratch bytes 0, clocks floordiv(d1 + 63, 64)*floordiv(32*floordiv(d0 + 127, 128) - 1, workers)*max(floordiv(471*min(workers, 32*floordiv(d0 + 127, 128)), 725) + 5*min(workers, 32*floordiv(d0 + 127, 128)), 512) + 30*floordiv(d1 + 63, 64)*floordiv(32*floordiv(d0 + 127, 128) - 1, workers) + floordiv(d1 + 63, 64)*max(floordiv(471*min(workers, 32*floordiv(d0 + 127, 128)), 725) + 5*min(workers, 32*floordiv(d0 + 127, 128)), 512) + 30*floordiv(d1 + 63, 64) + 2280*floordiv(32*floordiv(d0 + 127, 128) - 1, workers) + 2280
always: tile warpgroup 64x64x64 by 64x64 in 12 stages, 4 copying, threads 256, blocks 64*floordiv(d0 + 63, 64), shared bytes 215232, scratch bytes 0, clocks floordiv(d1 + 63, 64)*floordiv(64*floordiv(d0 + 63, 64) - 1, workers)*max(floordiv(598*min(workers, 64*floordiv(d0 + 63, 64)), 725) + 2*min(workers, 64*floordiv(d0 + 63, 64)), 248) + 30*floordiv(d1 + 63, 64)*floordiv(64*floordiv(d0 + 63, 64) - 1, workers) + floordiv(d1 + 63, 64)*max(floordiv(598*min(workers, 64*floordiv(d0 + 63, 64)), 725) + 2*min(workers, 64*floordiv(d0 + 63, 64)), 248) + 30*floordiv(d1 + 63, 64) + 1640*floordiv(64*floordiv(d0 + 63, 64) - 1, workers) + 1640
always: tile matrix 64x64x32 by 32x32 in 4 stages, threads 128, blocks 64*floordiv(d0 + 63, 64), shared bytes 32768, scratch bytes 0, clocks 222*floordiv(d1 + 31, 32)*floordiv(64*floordiv(d0 + 63, 64) - 1, workers) + 222*floordiv(d1 + 31, 32) + 1384*floordiv(64*floordiv(d0 + 63, 64) - 1, workers) + 1384
)");
  EXPECT_EQ(
      TextOf({.dtype = DType::kBF16, .m = 4096, .n = 4096, .k = 4096, .pairs = false}, "sm_90a").find("matrix 128"),
      std::string::npos);
}

TEST(ScheduleCudaProduct, OtherTypes) {
  EXPECT_EQ(TextOf({.dtype = DType::kF32}), R"(
d0 <= 1: tile stream 1x16x4 by 1x4 in 64 slices, threads 256, blocks d0*floordiv(d1 + 15, 16), shared bytes 5120, scratch bytes 0
d0 <= 4: tile stream 4x16x4 by 4x4 in 64 slices, threads 256, blocks floordiv(d0 + 3, 4)*floordiv(d1 + 15, 16), shared bytes 20480, scratch bytes 0
d0 <= 16: tile stream 16x16x2 by 16x4 in 64 slices, threads 256, blocks floordiv(d0 + 15, 16)*floordiv(d1 + 15, 16), shared bytes 40960, scratch bytes 0
always: tile 128x128x16 by 8x8 in 2 stages, threads 256, blocks floordiv(d0 + 127, 128)*floordiv(d1 + 127, 128), shared bytes 33792, scratch bytes 0, clocks 4126*floordiv(floordiv(d0 + 127, 128)*floordiv(d1 + 127, 128) - 1, workers)*floordiv(d2 + 15, 16) + 2536*floordiv(floordiv(d0 + 127, 128)*floordiv(d1 + 127, 128) - 1, workers) + 4126*floordiv(d2 + 15, 16) + 2536
always: tile 64x64x16 by 4x4 in 2 stages, threads 256, blocks floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64), shared bytes 17408, scratch bytes 0, clocks 1054*floordiv(floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64) - 1, workers)*floordiv(d2 + 15, 16) + 1384*floordiv(floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64) - 1, workers) + 1054*floordiv(d2 + 15, 16) + 1384
)");
  EXPECT_EQ(TextOf({.dtype = DType::kF64}), R"(
d0 <= 1: tile stream 1x16x4 by 1x2 in 32 slices, threads 256, blocks d0*floordiv(d1 + 15, 16), shared bytes 5120, scratch bytes 0
d0 <= 4: tile stream 4x16x4 by 4x2 in 32 slices, threads 256, blocks floordiv(d0 + 3, 4)*floordiv(d1 + 15, 16), shared bytes 20480, scratch bytes 0
d0 <= 16: tile stream 16x16x2 by 16x2 in 32 slices, threads 256, blocks floordiv(d0 + 15, 16)*floordiv(d1 + 15, 16), shared bytes 40960, scratch bytes 0
always: tile 64x64x16 by 4x4 in 2 stages, threads 256, blocks floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64), shared bytes 34816, scratch bytes 0, clocks 4126*floordiv(floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64) - 1, workers)*floordiv(d2 + 15, 16) + 1768*floordiv(floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64) - 1, workers) + 4126*floordiv(d2 + 15, 16) + 1768
)");
}

TEST(ScheduleCudaProduct, WhereBlocksShareTiles) {
  EXPECT_EQ(TextOf({.dtype = DType::kBF16, .m = 512, .n = 512}, "sm_80", true), R"(
always: tile matrix 128x128x32 by 64x32 in 3 stages, threads 256, blocks 16*max(floordiv(d0 + 31, 32), 1), shared bytes 49152, scratch bytes 65536*workers + 65536*min(workers, 16), clocks max(floordiv(8672*floordiv(d0 + 31, 32) + 40576, workers), 542*max(floordiv(d0 + 1023, 1024), 8)) + 8577, parts of max(floordiv(d0 + 1023, 1024), 8) steps, 1 blocks resident
always: tile matrix 64x64x32 by 32x32 in 4 stages, threads 128, blocks 64*max(floordiv(d0 + 31, 32), 1), shared bytes 32768, scratch bytes 49152*workers + 16384*min(3*workers, 64), clocks max(floordiv(14208*floordiv(d0 + 31, 32) + 88576, workers), 222*max(floordiv(d0 + 1023, 1024), 8)) + 7183, parts of max(floordiv(d0 + 1023, 1024), 8) steps, 3 blocks resident
)");
  EXPECT_EQ(TextOf({.dtype = DType::kBF16, .m = 512, .n = 512}, "sm_90a", true), R"(
d0 mod 8 == 0: tile warpgroup 128x128x64 by 64x128 in 6 stages, 1 copying, threads 288, blocks 16*max(floordiv(d0 + 63, 64), 1), shared bytes 231520, scratch bytes 65536*workers + 65536*min(workers, 16), clocks max(max(5*workers + floordiv(471*workers, 725), 512)*max(floordiv(d0 + 2047, 2048), 4) + 30*max(floordiv(d0 + 2047, 2048), 4), floordiv(16*floordiv(d0 + 63, 64)*max(5*workers + floordiv(471*workers, 725), 512) + 480*floordiv(d0 + 63, 64) + 36480, workers)) + 33000, parts of max(floordiv(d0 + 2047, 2048), 4) steps, 1 blocks resident
always: tile warpgroup 128x128x64 by 64x128 in 6 stages, 4 copying, threads 384, blocks 16*max(floordiv(d0 + 63, 64), 1), shared bytes 231520, scratch bytes 65536*workers + 65536*min(workers, 16), clocks max(max(5*workers + floordiv(471*workers, 725), 512)*max(floordiv(d0 + 2047, 2048), 4) + 30*max(floordiv(d0 + 2047, 2048), 4), floordiv(16*floordiv(d0 + 63, 64)*max(5*workers + floordiv(471*workers, 725), 512) + 480*floordiv(d0 + 63, 64) + 36480, workers)) + 33000, parts of max(floordiv(d0 + 2047, 2048), 4) steps, 1 blocks resident
)");
  EXPECT_EQ(TextOf({.dtype = DType::kF32, .m = 512, .n = 512}, "sm_80", true), R"(
always: tile 128x128x16 by 8x8 in 2 stages, threads 256, blocks 16*max(floordiv(d0 + 15, 16), 1), shared bytes 33792, scratch bytes 65536*workers + 65536*min(workers, 16), clocks max(floordiv(66016*floordiv(d0 + 15, 16) + 40576, workers), 4126*max(floordiv(d0 + 511, 512), 16)) + 8577, parts of max(floordiv(d0 + 511, 512), 16) steps, 1 blocks resident
always: tile 64x64x16 by 4x4 in 2 stages, threads 256, blocks 64*max(floordiv(d0 + 15, 16), 1), shared bytes 17408, scratch bytes 16384*workers + 16384*min(workers, 64), clocks max(floordiv(67456*floordiv(d0 + 15, 16) + 88576, workers), 1054*max(floordiv(d0 + 511, 512), 16)) + 4394, parts of max(floordiv(d0 + 511, 512), 16) steps, 1 blocks resident
)");
}

// Of few rows they stay f32.
TEST(ScheduleCudaProduct, F32OnTensorCores) {
  EXPECT_EQ(TextOf({.tf32 = true}), R"(
d0 <= 1: tile stream 1x16x4 by 1x4 in 64 slices, threads 256, blocks d0*floordiv(d1 + 15, 16), shared bytes 5120, scratch bytes 0
d0 <= 4: tile stream 4x16x4 by 4x4 in 64 slices, threads 256, blocks floordiv(d0 + 3, 4)*floordiv(d1 + 15, 16), shared bytes 20480, scratch bytes 0
d0 <= 16: tile stream 16x16x2 by 16x4 in 64 slices, threads 256, blocks floordiv(d0 + 15, 16)*floordiv(d1 + 15, 16), shared bytes 40960, scratch bytes 0
always: tile matrix 128x128x16 by 64x32 in 3 stages, threads 256, blocks floordiv(d0 + 127, 128)*floordiv(d1 + 127, 128), shared bytes 49152, scratch bytes 0, clocks 542*floordiv(floordiv(d0 + 127, 128)*floordiv(d1 + 127, 128) - 1, workers)*floordiv(d2 + 15, 16) + 2536*floordiv(floordiv(d0 + 127, 128)*floordiv(d1 + 127, 128) - 1, workers) + 542*floordiv(d2 + 15, 16) + 2536
always: tile matrix 64x64x16 by 32x32 in 4 stages, threads 128, blocks floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64), shared bytes 32768, scratch bytes 0, clocks 222*floordiv(floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64) - 1, workers)*floordiv(d2 + 15, 16) + 1384*floordiv(floordiv(d0 + 63, 64)*floordiv(d1 + 63, 64) - 1, workers) + 222*floordiv(d2 + 15, 16) + 1384
)");
  EXPECT_EQ(TextOf({.dtype = DType::kF64, .tf32 = true}), TextOf({.dtype = DType::kF64}));
}

TEST(ScheduleCudaProduct, WhatExtentsTellLeavesVersionsOut) {
  EXPECT_EQ(TextOf({.dtype = DType::kBF16, .m = 8, .n = 4096}), R"(
always: tile matrix stream 8x32x64 by 8x32 in 8 slices, threads 256, blocks 128, shared bytes 9216, scratch bytes 0
)");
  // One tile or two on as many multiprocessors: never the large one, which is half empty.
  EXPECT_EQ(TextOf({.dtype = DType::kBF16, .m = 128, .n = 64, .k = 1024}), R"(
always: tile matrix 64x64x32 by 32x32 in 4 stages, threads 128, blocks 2, shared bytes 32768, scratch bytes 0, clocks 8488*floordiv(1, workers) + 8488
)");
}

// Few rows are streamed by blocks that share tiles where columns make few of them and K is long.
TEST(ScheduleCudaProduct, StreamsAreSharedWhereTilesAreFew) {
  const auto is_shared = [](int64_t m, int64_t k, int64_t n, int64_t processors) {
    const ProductForm form{.dtype = DType::kBF16, .m = m, .n = n, .k = k};
    const CudaSchedule schedule = *ScheduleOnCuda(MakeProductPlan(form), FindCudaTarget("sm_80")->traits);
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
-4*max(floordiv(4194304, 12*workers), 5957) + 3*max(floordiv(4194304, 12*workers), 190650) - 13000 >= 0: tile matrix stream 8x32x64 by 8x32 in 8 slices, threads 256, blocks 1024, shared bytes 9216, scratch bytes 1024*workers + 1024*min(workers, 1), parts of 32 steps, 1 blocks resident
)");
}

// The tile for which the clocks are fewest (codegen/host/emit/emit_host.h).
std::string Cheapest(const ProductForm& form, int64_t processors) {
  auto schedule = ScheduleOnCuda(MakeProductPlan(form), FindCudaTarget("sm_80")->traits);
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

TEST(ScheduleCudaProduct, TurnsOfAllMultiprocessorsDecide) {
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

TEST(ScheduleCudaProduct, NoBlockTakesMoreSharedMemoryThanItHas) {
  for (DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16}) {
    for (bool transposed : {false, true}) {
      const CudaTarget target = *FindCudaTarget("sm_80");
      const ProductForm form{.dtype = dtype, .transpose_out = transposed};
      const CudaSchedule schedule = *ScheduleOnCuda(MakeProductPlan(form), target.traits);
      for (const CudaVersion& version : schedule.versions) {
        EXPECT_LE(*version.shared_bytes.constant(), target.traits.regional_bytes) << version.Text();
        EXPECT_EQ(version.threads % target.traits.warp_size, 0) << version.Text();
      }
    }
  }
}

TEST(ScheduleCudaProduct, ChainsAreRefused) {
  KernelPlan plan;
  plan.name = "chain";
  plan.form = ChainForm();
  const absl::Status status = ScheduleOnCuda(plan, FindCudaTarget("sm_80")->traits).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(), "kernel chain: a chain of kernels has no GPU form");
}

}  // namespace
}  // namespace tailor::cuda
