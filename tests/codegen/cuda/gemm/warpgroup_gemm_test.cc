// Matmuls on warpgroups (wgmma, TMA copies), run thread by thread on the host.
#include <functional>
#include <iterator>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/cuda/gemm/emulated_matmul.h"

namespace tailor::cuda {
namespace {

using testing::HasSubstr;

// Both are multiples of what copies move, or not; of tiles, or not.
constexpr int64_t kWarpgroupDimSizes[] = {0, 1, 8, 17, 64, 100, 128, 129, 200, 264};

// The versions on warpgroups, of which there are `count`, but for those whose blocks share tiles
// (stream_k_test.cc).
void ForWarpgroups(const EmulatedMatmul& matmul, int count, const std::function<void(int version)>& run) {
  int found = 0;
  for (int version = 0; version < matmul.versions(); ++version) {
    const CudaVersion& how = matmul.version(version);
    if (how.tile.kind != MatmulTile::Kind::kWarpgroup || how.cooperative) continue;
    ++found;
    run(version);
  }
  EXPECT_EQ(found, count);
}

// Every version on warpgroups at `sizes` random sizes; fixed dim sizes stay.
void ExpectRight(const MatmulCaseForm& form, int versions, int sizes) {
  const EmulatedMatmul matmul(form, "simt");
  uint32_t random = 1;
  const auto dim_size = [&](int64_t fixed) {
    random = random * 1664525 + 1013904223;
    return fixed == kDynamic ? kWarpgroupDimSizes[random / 65536 % std::size(kWarpgroupDimSizes)] : fixed;
  };
  for (int i = 0; i < sizes && !testing::Test::HasFailure(); ++i) {
    MatmulCaseSize size{.batch = {}, .m = dim_size(form.m), .n = dim_size(form.n), .k = dim_size(form.k)};
    for (int64_t fixed : form.batch) size.batch.push_back(fixed == kDynamic ? 1 + i % 3 : fixed);
    ForWarpgroups(matmul, versions, [&](int version) { matmul.ExpectRight(size, version, i); });
  }
}

class WarpgroupGemm : public testing::TestWithParam<DType> {};

TEST_P(WarpgroupGemm, AnyDimSizes) { ExpectRight({.dtype = GetParam()}, 7, 6); }

TEST_P(WarpgroupGemm, Epilogues) {
  ExpectRight({.dtype = GetParam(), .epilogue = true}, 7, 3);
  ExpectRight({.dtype = GetParam(), .transpose_out = true, .epilogue = true}, 7, 2);
}

// Known to be whole boxes, which is then the only version; known not to be.
TEST_P(WarpgroupGemm, KnownDepths) {
  ExpectRight({.dtype = GetParam(), .n = 96, .k = 136}, 5, 2);
  ExpectRight({.dtype = GetParam(), .k = 12}, 2, 2);
  ExpectRight({.dtype = GetParam(), .k = 1}, 2, 1);
}

TEST_P(WarpgroupGemm, Batches) {
  ExpectRight({.dtype = GetParam(), .batch = {kDynamic}, .rhs_has_batch = {true}}, 7, 3);
  ExpectRight({.dtype = GetParam(), .batch = {2, kDynamic}, .rhs_has_batch = {false, true}, .epilogue = true}, 7, 2);
}

// Rows of one batch index lie apart: boxes step over the heads between them.
TEST_P(WarpgroupGemm, RowsThatLieApart) {
  ExpectRight({.dtype = GetParam(), .batch = {kDynamic, 3}, .rhs_has_batch = {true, true}, .heads = true}, 7, 3);
}

// Nothing of it is a box.
TEST_P(WarpgroupGemm, ALeftOperandThatIsGathered) { ExpectRight({.dtype = GetParam(), .transpose_lhs = true}, 2, 4); }

// Callers' tensors are aligned to their elements alone.
TEST_P(WarpgroupGemm, ALeftOperandThatIsNotAligned) {
  const EmulatedMatmul matmul({.dtype = GetParam()}, "simt");
  const MatmulCaseSize size{.batch = {}, .m = 130, .n = 140, .k = 136};
  ForWarpgroups(matmul, 7, [&](int version) {
    MatmulMemory memory = matmul.Memory(size);
    memory.ShiftLeftOperand();
    matmul.ExpectRight(size, version, 1, memory);
  });
}

// One block takes tile after tile, with stages in flight from one to the next, in many orders of its warps.
TEST_P(WarpgroupGemm, BlocksTakeManyTiles) {
  const EmulatedMatmul matmul({.dtype = GetParam()}, "simt");
  const MatmulCaseSize size{.batch = {}, .m = 300, .n = 270, .k = 200};
  ForWarpgroups(matmul, 7, [&](int version) {
    for (int64_t blocks : {1, 4}) matmul.ExpectRight(size, version, 3, matmul.Memory(size), blocks);
  });
}

INSTANTIATE_TEST_SUITE_P(Cuda, WarpgroupGemm, testing::Values(DType::kF16, DType::kBF16),
                         [](const auto& info) { return std::string(NameOf(info.param)); });

// What the emulator finds where a kernel of the family forgets something.
class WarpgroupMistake : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(WarpgroupMistake, IsFound) {
  EmulatedMatmul matmul({.dtype = DType::kF16, .transpose_lhs = true}, "simt", /*forgotten=*/GetParam().first);
  const MatmulCaseSize size{.batch = {}, .m = 130, .n = 140, .k = 200};
  ForWarpgroups(matmul, 2, [&](int version) {
    const std::string found = matmul.Run(size, version, 1, matmul.Memory(size), 1);
    EXPECT_THAT(found, HasSubstr(GetParam().second));
  });
}

INSTANTIATE_TEST_SUITE_P(Cuda, WarpgroupMistake,
                         testing::Values(std::pair{"fence_async_proxy", "with no fence_async_proxy between"},
                                         std::pair{"wgmma_fence",
                                                   "a wgmma of registers that were written since the last fence"},
                                         std::pair{"wgmma_wait", "uses the result of a wgmma that is under way"},
                                         std::pair{"mbarrier_wait", "of shared memory"},
                                         std::pair{"named_barrier", "with no barrier between"}),
                         [](const auto& info) { return std::string(info.param.first); });

}  // namespace
}  // namespace tailor::cuda
