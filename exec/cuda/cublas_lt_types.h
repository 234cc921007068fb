// Types and constants of cublasLt.h that Tailor uses, declared here so that building needs no CUDA toolkit.
// tests/exec/cuda/cublas_lt_types_test.cc compares them with the header.
#ifndef TAILOR_EXEC_CUDA_CUBLAS_LT_TYPES_H_
#define TAILOR_EXEC_CUDA_CUBLAS_LT_TYPES_H_

#include <cstddef>
#include <cstdint>

namespace tailor::cublas_lt {

enum Status : int {  // cublasStatus_t
  kSuccess = 0,
  kAllocFailed = 3,
  kInvalidValue = 7,
  kExecutionFailed = 13,
  kNotSupported = 15,
};

using Handle = struct cublasLtContext*;
using MatmulDesc = struct cublasLtMatmulDescOpaque*;              // describes a matmul
using MatrixLayout = struct cublasLtMatrixLayoutOpaque*;          // describes an operand, column-major
using MatmulPreference = struct cublasLtMatmulPreferenceOpaque*;  // constraints on algorithms

inline constexpr int kCompute32F = 68;  // CUBLAS_COMPUTE_32F

enum DataType : int {  // cudaDataType_t
  kReal32F = 0,
  kReal16F = 2,
  kReal16BF = 14,
};

inline constexpr int32_t kTransposed = 1;  // CUBLAS_OP_T

enum MatmulDescAttribute : int {  // CUBLASLT_MATMUL_DESC_*
  kTransA = 3,
  kTransB = 4,
};

enum MatrixLayoutAttribute : int {  // CUBLASLT_MATRIX_LAYOUT_*
  kBatchCount = 5,                  // int32
  kStridedBatchOffset = 6,          // int64, in elements
};

enum MatmulPreferenceAttribute : int {  // CUBLASLT_MATMUL_PREF_*
  kMaxWorkspaceBytes = 1,               // uint64
  kReductionSchemeMask = 3,             // uint32
  kMinAlignmentABytes = 5,              // uint32, of operand addresses
  kMinAlignmentBBytes = 6,
  kMinAlignmentCBytes = 7,
  kMinAlignmentDBytes = 8,
};

// CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE: partial sums over K are added in the accumulator type, outside of the result.
inline constexpr uint32_t kReductionInComputeType = 2;
inline constexpr uint32_t kAnyReduction = 7;  // CUBLASLT_REDUCTION_SCHEME_MASK

struct Algorithm {  // cublasLtMatmulAlgo_t
  uint64_t data[8];
};

struct HeuristicResult {  // cublasLtMatmulHeuristicResult_t
  Algorithm algorithm;
  size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};

}  // namespace tailor::cublas_lt

#endif  // TAILOR_EXEC_CUDA_CUBLAS_LT_TYPES_H_
