// Matmuls whose blocks share tiles along K, run thread by thread on the host.
#include <functional>
#include <iterator>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/cuda/gemm/emulated_matmul.h"

namespace tailor::cuda {
namespace {

using testing::HasSubstr;

// The versions of `matmul` whose blocks share tiles.
void ForShared(const EmulatedMatmul& matmul, const std::function<void(int version)>& run) {
  int found = 0;
  for (int version = 0; version < matmul.versions(); ++version) {
    if (!matmul.version(version).cooperative) continue;
    ++found;
    run(version);
  }
  EXPECT_GT(found, 0);
}

struct Target {
  const char* name;
  DType dtype;
};

// Tensor cores of both kinds, multiply-adds.
class StreamKMatmul : public testing::TestWithParam<Target> {
 protected:
  MatmulCaseForm Form(MatmulCaseForm form = {}) const {
    form.dtype = GetParam().dtype;
    return form;
  }
  // At `count` random sizes, each on some number of blocks, whose parts have some least length.
  void ExpectRight(const MatmulCaseForm& form, int count) {
    static constexpr int64_t kPlane[] = {1, 17, 64, 100, 129, 200}, kDepth[] = {0, 1, 31, 64, 130, 257};
    const EmulatedMatmul matmul(form, GetParam().name);
    std::mt19937 random(5);
    const auto pick = [&](int64_t fixed, const int64_t(&dim_sizes)[6]) {
      return fixed == kDynamic ? dim_sizes[random() % 6] : fixed;
    };
    for (int i = 0; i < count && !HasFailure(); ++i) {
      MatmulCaseSize size{.batch = {}, .m = pick(form.m, kPlane), .n = pick(form.n, kPlane), .k = pick(form.k, kDepth)};
      for (int64_t fixed : form.batch) size.batch.push_back(fixed == kDynamic ? random() % 4 : fixed);
      const int64_t blocks = 1 + random() % 6, part = 1 + random() % 3;
      ForShared(matmul, [&](int version) { matmul.ExpectRight(size, version, i, matmul.Memory(size), blocks, part); });
    }
  }
};

TEST_P(StreamKMatmul, AnyDimSizesBlocksAndParts) { ExpectRight(Form(), 12); }
TEST_P(StreamKMatmul, Epilogues) {
  ExpectRight(Form({.epilogue = true}), 4);
  ExpectRight(Form({.transpose_out = true, .epilogue = true}), 4);
}
TEST_P(StreamKMatmul, KnownDepths) {
  ExpectRight(Form({.n = 96, .k = 256}), 3);
  ExpectRight(Form({.k = 136}), 3);
}
TEST_P(StreamKMatmul, Batches) {
  ExpectRight(Form({.batch = {kDynamic}, .rhs_has_batch = {true}}), 4);
  ExpectRight(Form({.batch = {2, kDynamic}, .rhs_has_batch = {false, true}, .epilogue = true}), 3);
}
TEST_P(StreamKMatmul, LeftOperandsOfAnyStride) {
  ExpectRight(Form({.transpose_lhs = true}), 4);
  ExpectRight(Form({.batch = {kDynamic, 3}, .rhs_has_batch = {true, true}, .heads = true}), 3);
}

// One tile in as many parts as there are steps, all tiles in turns and a rest, no rest at all, parts longer than a
// tile.
TEST_P(StreamKMatmul, EveryTiling) {
  const EmulatedMatmul matmul(Form(), GetParam().name);
  for (const MatmulCaseSize& size :
       {MatmulCaseSize{.m = 30, .n = 40, .k = 200}, MatmulCaseSize{.m = 130, .n = 70, .k = 70}}) {
    for (int64_t blocks = 1; blocks <= EmulatedMatmul::kMultiprocessors; ++blocks) {
      for (int64_t part : {1, 2, 100}) {
        ForShared(matmul,
                  [&](int version) { matmul.ExpectRight(size, version, 1, matmul.Memory(size), blocks, part); });
      }
    }
  }
}

// Callers' tensors are aligned to their elements alone.
TEST_P(StreamKMatmul, ALeftOperandThatIsNotAligned) {
  const EmulatedMatmul matmul(Form(), GetParam().name);
  const MatmulCaseSize size{.batch = {}, .m = 65, .n = 140, .k = 200};
  ForShared(matmul, [&](int version) {
    MatmulMemory memory = matmul.Memory(size);
    memory.ShiftLeftOperand();
    matmul.ExpectRight(size, version, 1, memory, 3, 1);
  });
}

// What the emulator finds of a kernel that adds what no barrier says is there.
TEST_P(StreamKMatmul, BlocksThatDoNotMeetAreFound) {
  const EmulatedMatmul matmul(Form(), GetParam().name, /*forgotten=*/"grid_barrier");
  const MatmulCaseSize size{.batch = {}, .m = 64, .n = 64, .k = 304};
  ForShared(matmul, [&](int version) {
    const MatmulMemory memory = matmul.Memory(size);
    std::string found;
    for (uint32_t seed = 0; seed < 8 && found.empty(); ++seed) found = matmul.Run(size, version, seed, memory, 3, 1);
    EXPECT_THAT(found, HasSubstr("with nothing that orders the two")) << matmul.version(version).Text();
  });
}

INSTANTIATE_TEST_SUITE_P(Cuda, StreamKMatmul,
                         testing::Values(Target{"sm_80", DType::kF32}, Target{"sm_80", DType::kF64},
                                         Target{"sm_80", DType::kF16}, Target{"sm_80", DType::kBF16},
                                         Target{"simt", DType::kBF16}),
                         [](const auto& info) {
                           return std::string(info.param.name) + "_" + NameOf(info.param.dtype);
                         });

}  // namespace
}  // namespace tailor::cuda
