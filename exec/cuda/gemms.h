// CudaGemms: the matmuls of one stream's runs that cuBLASLt computes in place of the program's kernels (DISC section
// 4.5). Used by one thread at a time, with the device's context current.
#ifndef TAILOR_EXEC_CUDA_GEMMS_H_
#define TAILOR_EXEC_CUDA_GEMMS_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "exec/cuda/cublas_lt.h"
#include "exec/cuda/cublas_lt_gemm.h"
#include "exec/failure.h"
#include "exec/host_abi.h"
#include "exec/memory.h"

namespace tailor {

class CudaProgram;

class CudaGemms {
 public:
  // `program`, `library` and the device's `memory` outlive the result; matmuls run in `stream`.
  static Failure Create(const CudaProgram& program, const CublasLt& library, cuda::Stream stream,
                        const Allocator& memory, std::unique_ptr<CudaGemms>* out);
  CudaGemms(const CudaGemms&) = delete;
  // Requires that no matmul is in progress.
  ~CudaGemms();

  // RtApi::offer. Prepares all that Multiply needs. If the library does not compute the matmul, logs the reason, once.
  bool Take(const GemmArgs& gemm);
  // Enqueues a matmul that Take accepted.
  Failure Multiply(const GemmArgs& gemm);

 private:
  // The parameters of a matmul, without the addresses of non-constant operands.
  using Key = std::array<int64_t, 15>;
  struct Prepared {
    std::unique_ptr<const CublasLtGemm> aligned;    // for addresses that are multiples of 16 bytes
    std::unique_ptr<const CublasLtGemm> unaligned;  // for addresses aligned only to elements
    const void* row_major_rhs = nullptr;            // row-major copy of a constant rhs in panels
    std::string refusal;                            // why the library does not compute it; "": it does
  };
  static constexpr size_t kMostMade = 1024;

  CudaGemms(const CudaProgram& program, const CublasLt& library, cuda::Stream stream, const Allocator& memory)
      : program_(program), library_(library), stream_(stream), workspace_(memory) {}
  static Key KeyOf(const GemmArgs& gemm);
  // Returns Prepared::refusal.
  std::string Make(const GemmArgs& gemm, Prepared* made);
  // Valid until the next call.
  const Prepared& Find(const GemmArgs& gemm);

  const CudaProgram& program_;
  const CublasLt& library_;
  const cuda::Stream stream_;
  cublas_lt::Handle handle_ = nullptr;
  GrowingBuffer workspace_;  // of the current matmul
  std::map<Key, Prepared> prepared_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_GEMMS_H_
