// CudaGemms: the products of one stream's runs that cuBLASLt computes in the place of the program's kernels (DISC
// section 4.5). Used by one thread at a time, while the device's context is current.
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
  // `program`, `library` and the device's `memory` outlive the matmuls; `stream` is where they are computed.
  static Failure Create(const CudaProgram& program, const CublasLt& library, cuda::Stream stream,
                        const Allocator& memory, std::unique_ptr<CudaGemms>* out);
  CudaGemms(const CudaGemms&) = delete;
  // No matmul is under way.
  ~CudaGemms();

  // RtApi::offer. Has made whatever Multiply takes; where the library does not compute the matmul, the log has said
  // why, once.
  bool Take(const GemmArgs& gemm);
  // Asks for a matmul that was taken.
  Failure Multiply(const GemmArgs& gemm);

 private:
  // All that a matmul depends on but the addresses of what is no constant.
  using Key = std::array<int64_t, 15>;
  struct Made {
    std::unique_ptr<const CublasLtGemm> aligned;    // for addresses that are multiples of 16
    std::unique_ptr<const CublasLtGemm> unaligned;  // that are aligned to elements alone
    const void* plain = nullptr;                    // a constant rhs without panels
    std::string refusal;                            // why the library does not compute it; "": it does
  };
  static constexpr size_t kMostMade = 1024;

  CudaGemms(const CudaProgram& program, const CublasLt& library, cuda::Stream stream, const Allocator& memory)
      : program_(program), library_(library), stream_(stream), workspace_(memory) {}
  static Key KeyOf(const GemmArgs& gemm);
  // Gives Made::refusal.
  std::string Make(const GemmArgs& gemm, Made* made);
  // Valid until the next call.
  const Made& Find(const GemmArgs& gemm);

  const CudaProgram& program_;
  const CublasLt& library_;
  const cuda::Stream stream_;
  cublas_lt::Handle handle_ = nullptr;
  GrowingBuffer workspace_;  // of the matmul under way
  std::map<Key, Made> made_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_GEMMS_H_
