// CublasLtGemm: a matmul of given dim sizes, dtypes and strides, prepared for cuBLASLt: its layouts, and the first
// algorithm of the library's heuristic. cuBLASLt is column-major, so it computes out^T = rhs^T lhs^T, whose operands
// are the row-major matrices in memory. Immutable and thread-safe.
#ifndef TAILOR_EXEC_CUDA_CUBLAS_LT_GEMM_H_
#define TAILOR_EXEC_CUDA_CUBLAS_LT_GEMM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "exec/cuda/cublas_lt.h"
#include "exec/host_abi.h"

namespace tailor {

// Constraints on the algorithm. By default only algorithms whose results are rounded once.
struct CublasLtLimits {
  uint64_t workspace_bytes = uint64_t{32} << 20;
  uint32_t alignment = 16;  // of all addresses, in bytes
  uint32_t reductions = cublas_lt::kReductionInComputeType;
};

class CublasLtGemm {
 public:
  // Ignores the addresses in `gemm`; its rhs has rhs_strides. `library` and `handle` outlive the result. Returns "", or
  // why the library does not compute it ("cuBLASLt has no algorithm").
  static std::string Make(const CublasLt& library, cublas_lt::Handle handle, const GemmArgs& gemm,
                          const CublasLtLimits& limits, std::unique_ptr<const CublasLtGemm>* out);
  CublasLtGemm(const CublasLtGemm&) = delete;
  ~CublasLtGemm();

  // Device memory that a call needs exclusively until it is done.
  size_t workspace_bytes() const { return found_.workspace_bytes; }
  // Enqueues the matmul in `stream`. Addresses are aligned as the limits require, the workspace to 256 bytes.
  cublas_lt::Status Multiply(const void* lhs, const void* rhs, void* out, void* workspace, cuda::Stream stream) const;

 private:
  CublasLtGemm(const CublasLt& library, cublas_lt::Handle handle) : library_(library), handle_(handle) {}
  std::string Describe(const GemmArgs& gemm);
  std::string FindAlgorithm(const CublasLtLimits& limits);

  const CublasLt& library_;
  const cublas_lt::Handle handle_;
  cublas_lt::MatmulDesc gemm_ = nullptr;
  cublas_lt::MatrixLayout lhs_ = nullptr, rhs_ = nullptr, out_ = nullptr;
  cublas_lt::HeuristicResult found_ = {};
};

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_CUBLAS_LT_GEMM_H_
