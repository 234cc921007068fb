// The few types and numbers of cublasLt.h that are used, declared here because machines that build Tailor need no CUDA
// toolkit. cublas_lt_types_test.cc holds them against it.
#ifndef TAILOR_BENCH_GPU_CUBLAS_LT_TYPES_H_
#define TAILOR_BENCH_GPU_CUBLAS_LT_TYPES_H_

#include <cstddef>
#include <cstdint>

namespace tailor::cublas_lt {

using Status = int;  // cublasStatus_t; 0 is success
using Handle = struct cublasLtContext*;
using Descriptor = void*;  // of a product, a layout or a preference

inline constexpr int kCompute32F = 68;  // CUBLAS_COMPUTE_32F
inline constexpr int kReal32F = 0;      // CUDA_R_32F
inline constexpr int kReal16BF = 14;    // CUDA_R_16BF
inline constexpr int32_t kTransposed = 1;
inline constexpr int kTransA = 3, kTransB = 4;  // CUBLASLT_MATMUL_DESC_*
inline constexpr int kMaxWorkspaceBytes = 1;    // CUBLASLT_MATMUL_PREF_*

struct Algorithm {
  uint64_t data[8];
};

struct HeuristicResult {
  Algorithm algorithm;
  size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};

}  // namespace tailor::cublas_lt

#endif  // TAILOR_BENCH_GPU_CUBLAS_LT_TYPES_H_
