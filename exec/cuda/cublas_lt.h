// CublasLt: NVIDIA's matmul library, loaded at run time, so that nothing links it. A loaded library is immutable and
// thread-safe, and stays loaded.
#ifndef TAILOR_EXEC_CUDA_CUBLAS_LT_H_
#define TAILOR_EXEC_CUDA_CUBLAS_LT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "exec/cuda/cublas_lt_types.h"
#include "exec/cuda/types.h"
#include "exec/failure.h"

namespace tailor {

// All functions of the library that Tailor calls: name without "cublasLt", result and parameters.
#define TAILOR_CUBLAS_LT_FUNCTIONS(F)                                                                              \
  F(GetVersion, size_t, ())                                                                                        \
  F(GetStatusName, const char*, (cublas_lt::Status status))                                                        \
  F(Create, cublas_lt::Status, (cublas_lt::Handle * handle))                                                       \
  F(Destroy, cublas_lt::Status, (cublas_lt::Handle handle))                                                        \
  F(MatmulDescCreate, cublas_lt::Status, (cublas_lt::MatmulDesc * gemm, int compute, cublas_lt::DataType scale))   \
  F(MatmulDescDestroy, cublas_lt::Status, (cublas_lt::MatmulDesc gemm))                                            \
  F(MatmulDescSetAttribute, cublas_lt::Status,                                                                     \
    (cublas_lt::MatmulDesc gemm, cublas_lt::MatmulDescAttribute attribute, const void* value, size_t bytes))       \
  F(MatrixLayoutCreate, cublas_lt::Status,                                                                         \
    (cublas_lt::MatrixLayout * layout, cublas_lt::DataType type, uint64_t rows, uint64_t columns, int64_t ld))     \
  F(MatrixLayoutDestroy, cublas_lt::Status, (cublas_lt::MatrixLayout layout))                                      \
  F(MatrixLayoutSetAttribute, cublas_lt::Status,                                                                   \
    (cublas_lt::MatrixLayout layout, cublas_lt::MatrixLayoutAttribute attribute, const void* value, size_t bytes)) \
  F(MatmulPreferenceCreate, cublas_lt::Status, (cublas_lt::MatmulPreference * preference))                         \
  F(MatmulPreferenceDestroy, cublas_lt::Status, (cublas_lt::MatmulPreference preference))                          \
  F(MatmulPreferenceSetAttribute, cublas_lt::Status,                                                               \
    (cublas_lt::MatmulPreference preference, cublas_lt::MatmulPreferenceAttribute attribute, const void* value,    \
     size_t bytes))                                                                                                \
  F(MatmulAlgoGetHeuristic, cublas_lt::Status,                                                                     \
    (cublas_lt::Handle handle, cublas_lt::MatmulDesc gemm, cublas_lt::MatrixLayout a, cublas_lt::MatrixLayout b,   \
     cublas_lt::MatrixLayout c, cublas_lt::MatrixLayout d, cublas_lt::MatmulPreference preference, int wanted,     \
     cublas_lt::HeuristicResult* results, int* got))                                                               \
  F(Matmul, cublas_lt::Status,                                                                                     \
    (cublas_lt::Handle handle, cublas_lt::MatmulDesc gemm, const void* alpha, const void* a,                       \
     cublas_lt::MatrixLayout a_layout, const void* b, cublas_lt::MatrixLayout b_layout, const void* beta,          \
     const void* c, cublas_lt::MatrixLayout c_layout, void* d, cublas_lt::MatrixLayout d_layout,                   \
     const cublas_lt::Algorithm* algorithm, void* workspace, size_t workspace_bytes, cuda::Stream stream))

struct CublasLt {
#define TAILOR_CUBLAS_LT_MEMBER(name, result, parameters) result(*name) parameters = nullptr;
  TAILOR_CUBLAS_LT_FUNCTIONS(TAILOR_CUBLAS_LT_MEMBER)
#undef TAILOR_CUBLAS_LT_MEMBER

  // Binds all functions to the first of `paths` that has them. FAILED_PRECONDITION with the reason for each path.
  static Failure Load(const std::vector<std::string>& paths, CublasLt* out);

  std::string VersionText() const;  // "cuBLASLt 13.0.2"
  // "cublasLtMatmul for a matmul: CUBLAS_STATUS_NOT_SUPPORTED (15)": RESOURCE_EXHAUSTED if memory is out, else
  // INTERNAL. No failure for kSuccess.
  Failure FailureOf(cublas_lt::Status status, const char* call, const std::string& purpose) const;
};

// The path in the environment variable TAILOR_CUBLASLT, else libcublasLt.so.13 and .12, both in the dynamic loader's
// path and in /usr/local/cuda/lib64.
std::vector<std::string> CublasLtPaths();

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_CUBLAS_LT_H_
