// bench/gpu/cublas_lt_types.h against NVIDIA's own header, where this machine has it.
#include "bench/gpu/cublas_lt_types.h"

#include <gtest/gtest.h>

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#endif

namespace tailor {
namespace {

TEST(CublasLtTypes, AreThoseOfTheHeader) {
#ifdef CUBLASWINAPI
  EXPECT_EQ(cublas_lt::kCompute32F, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(cublas_lt::kReal32F, CUDA_R_32F);
  EXPECT_EQ(cublas_lt::kReal16BF, CUDA_R_16BF);
  EXPECT_EQ(cublas_lt::kTransposed, CUBLAS_OP_T);
  EXPECT_EQ(cublas_lt::kTransA, CUBLASLT_MATMUL_DESC_TRANSA);
  EXPECT_EQ(cublas_lt::kTransB, CUBLASLT_MATMUL_DESC_TRANSB);
  EXPECT_EQ(cublas_lt::kMaxWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  EXPECT_EQ(sizeof(cublas_lt::Algorithm), sizeof(cublasLtMatmulAlgo_t));
  EXPECT_EQ(sizeof(cublas_lt::HeuristicResult), sizeof(cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(cublas_lt::HeuristicResult, workspace_bytes),
            offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  EXPECT_EQ(offsetof(cublas_lt::HeuristicResult, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
#else
  GTEST_SKIP() << "this machine has no cublasLt.h";
#endif
}

}  // namespace
}  // namespace tailor
