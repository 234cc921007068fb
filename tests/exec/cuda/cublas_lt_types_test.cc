// exec/cuda/cublas_lt_types.h against NVIDIA's own header, where this machine has it.
#include "exec/cuda/cublas_lt_types.h"

#include <gtest/gtest.h>

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#endif

namespace tailor {
namespace {

TEST(CublasLtTypes, AreThoseOfTheHeader) {
#ifdef CUBLASWINAPI
  using namespace cublas_lt;  // NOLINT: names differ from the header's
  EXPECT_EQ(kSuccess, CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(kAllocFailed, CUBLAS_STATUS_ALLOC_FAILED);
  EXPECT_EQ(kInvalidValue, CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(kExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(kNotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(kCompute32F, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(kReal32F, CUDA_R_32F);
  EXPECT_EQ(kReal16F, CUDA_R_16F);
  EXPECT_EQ(kReal16BF, CUDA_R_16BF);
  EXPECT_EQ(kTransposed, CUBLAS_OP_T);
  EXPECT_EQ(kTransA, CUBLASLT_MATMUL_DESC_TRANSA);
  EXPECT_EQ(kTransB, CUBLASLT_MATMUL_DESC_TRANSB);
  EXPECT_EQ(kBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  EXPECT_EQ(kStridedBatchOffset, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  EXPECT_EQ(kMaxWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  EXPECT_EQ(kReductionSchemeMask, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
  EXPECT_EQ(kMinAlignmentABytes, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  EXPECT_EQ(kMinAlignmentBBytes, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
  EXPECT_EQ(kMinAlignmentCBytes, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
  EXPECT_EQ(kMinAlignmentDBytes, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  EXPECT_EQ(kReductionInComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  EXPECT_EQ(kAnyReduction, CUBLASLT_REDUCTION_SCHEME_MASK);
  EXPECT_EQ(sizeof(Algorithm), sizeof(cublasLtMatmulAlgo_t));
  EXPECT_EQ(sizeof(HeuristicResult), sizeof(cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(HeuristicResult, workspace_bytes), offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  EXPECT_EQ(offsetof(HeuristicResult, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
#else
  GTEST_SKIP() << "this machine has no cublasLt.h";
#endif
}

}  // namespace
}  // namespace tailor
