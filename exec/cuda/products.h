// CudaProducts: the products of one stream's runs that cuBLASLt computes in the place of the program's kernels (DISC
// section 4.5). Used by one thread at a time, while the device's context is current.
#ifndef TAILOR_EXEC_CUDA_PRODUCTS_H_
#define TAILOR_EXEC_CUDA_PRODUCTS_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "exec/cuda/cublas_lt.h"
#include "exec/cuda/cublas_lt_product.h"
#include "exec/failure.h"
#include "exec/host_abi.h"
#include "exec/memory.h"

namespace tailor {

class CudaProgram;

class CudaProducts {
 public:
  // `program`, `library` and the device's `memory` outlive the products; `stream` is where they are computed.
  static Failure Create(const CudaProgram& program, const CublasLt& library, cuda::Stream stream,
                        const Allocator& memory, std::unique_ptr<CudaProducts>* out);
  CudaProducts(const CudaProducts&) = delete;
  // No product is under way.
  ~CudaProducts();

  // RtApi::offer. Has made whatever Multiply takes; where the library does not compute the product, the log has said
  // why, once.
  bool Take(const ProductArgs& product);
  // Asks for a product that was taken.
  Failure Multiply(const ProductArgs& product);

 private:
  // All that a product depends on but the addresses of what is no constant.
  using Key = std::array<int64_t, 15>;
  struct Made {
    std::unique_ptr<const CublasLtProduct> aligned;    // for addresses that are multiples of 16
    std::unique_ptr<const CublasLtProduct> unaligned;  // that are aligned to elements alone
    const void* plain = nullptr;                       // a constant rhs without panels
    std::string refusal;                               // why the library does not compute it; "": it does
  };
  static constexpr size_t kMostMade = 1024;

  CudaProducts(const CudaProgram& program, const CublasLt& library, cuda::Stream stream, const Allocator& memory)
      : program_(program), library_(library), stream_(stream), workspace_(memory) {}
  static Key KeyOf(const ProductArgs& product);
  // Gives Made::refusal.
  std::string Make(const ProductArgs& product, Made* made);
  // Valid until the next call.
  const Made& Find(const ProductArgs& product);

  const CudaProgram& program_;
  const CublasLt& library_;
  const cuda::Stream stream_;
  cublas_lt::Handle handle_ = nullptr;
  GrowingBuffer workspace_;  // of the product under way
  std::map<Key, Made> made_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_PRODUCTS_H_
