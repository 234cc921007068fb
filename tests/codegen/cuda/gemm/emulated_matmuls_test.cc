// Matmul kernels, run thread by thread on the host, against plain loops in double.
#include "gtest/gtest.h"
#include "tests/codegen/cuda/gemm/emulated_matmul.h"

namespace tailor::cuda {
namespace {

constexpr int64_t kDimSizes[] = {0, 1, 2, 15, 16, 17, 31, 63, 64, 65, 100, 129};

void ExpectRightAtRandomSizes(const MatmulCaseForm& form, int count) {
  EmulatedMatmul(form, "sm_80").ExpectRightAtRandomSizes(kDimSizes, count);
}

TEST(EmulatedCudaMatmul, EveryDType) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF64}) {
    SCOPED_TRACE(NameOf(dtype));
    ExpectRightAtRandomSizes({.dtype = dtype}, 12);
    ExpectRightAtRandomSizes({.dtype = dtype, .epilogue = true}, 6);
  }
}

TEST(EmulatedCudaMatmul, FixedDimSizes) {
  ExpectRightAtRandomSizes({.n = 96, .k = 64, .epilogue = true}, 3);
  ExpectRightAtRandomSizes({.m = 1, .n = 200, .k = 31}, 1);
  ExpectRightAtRandomSizes({.m = 11, .n = 1, .k = 17}, 1);
  ExpectRightAtRandomSizes({.m = 3, .n = 5, .k = 1}, 1);
  ExpectRightAtRandomSizes({.m = 0, .k = 4}, 2);
}

// Copies for steps that K does not have read nothing.
TEST(EmulatedCudaMatmul, FixedDepthsThatAreWholeSteps) {
  for (DType dtype : {DType::kBF16, DType::kF16}) ExpectRightAtRandomSizes({.dtype = dtype, .k = 64}, 4);
}

TEST(EmulatedCudaMatmul, BatchWithAndWithoutBroadcast) {
  ExpectRightAtRandomSizes({.batch = {kDynamic}, .rhs_has_batch = {true}}, 4);
  ExpectRightAtRandomSizes({.batch = {kDynamic, 3}, .rhs_has_batch = {true, false}, .epilogue = true}, 4);
  ExpectRightAtRandomSizes({.batch = {2, kDynamic}, .rhs_has_batch = {false, true}}, 4);
}

TEST(EmulatedCudaMatmul, LeftOperandOfAnyStride) {
  ExpectRightAtRandomSizes({.transpose_lhs = true}, 8);
  ExpectRightAtRandomSizes({.dtype = DType::kBF16, .transpose_lhs = true}, 8);
  ExpectRightAtRandomSizes({.batch = {kDynamic, 4}, .rhs_has_batch = {true, true}, .heads = true}, 3);
}

TEST(EmulatedCudaMatmul, TransposedOutput) {
  ExpectRightAtRandomSizes({.transpose_out = true}, 6);
  ExpectRightAtRandomSizes({.dtype = DType::kF16, .transpose_out = true, .epilogue = true}, 6);
}

// The numbers of these tests are those of tf32 too, so that nothing is rounded.
TEST(EmulatedCudaMatmul, F32OnTensorCores) {
  ExpectRightAtRandomSizes({.tf32 = true}, 8);
  ExpectRightAtRandomSizes({.tf32 = true, .epilogue = true}, 4);
  ExpectRightAtRandomSizes({.k = 32, .tf32 = true}, 3);
  ExpectRightAtRandomSizes({.tf32 = true, .transpose_lhs = true}, 4);
  ExpectRightAtRandomSizes({.batch = {kDynamic, 4}, .rhs_has_batch = {true, true}, .tf32 = true, .heads = true}, 3);
}

// Callers' tensors are aligned to their elements alone.
TEST(EmulatedCudaMatmul, ALeftOperandThatNoCopyOfSixteenBytesMayRead) {
  for (DType dtype : {DType::kBF16, DType::kF16, DType::kF32}) {
    const MatmulCaseForm form{.dtype = dtype, .tf32 = true};
    const EmulatedMatmul matmul(form, "sm_80");
    const MatmulCaseSize size{.m = 65, .n = 40, .k = 72};
    for (int version = 0; version < matmul.versions(); ++version) {
      MatmulMemory memory = matmul.Memory(size);
      memory.ShiftLeftOperand();
      matmul.ExpectRight(size, version, 1, memory);
    }
  }
}

// Blocks share their operands' lines in bands of eight rows of tiles; here are two whole bands and a part of one.
TEST(EmulatedCudaMatmul, EveryTileIsSomeBlocks) {
  const EmulatedMatmul matmul({}, "sm_80");
  const MatmulCaseSize size{.m = 64 * 18 + 5, .n = 64 * 3 + 1, .k = 3};
  for (int version = 0; version < matmul.versions(); ++version) matmul.ExpectRight(size, version, 1);
}

}  // namespace
}  // namespace tailor::cuda
