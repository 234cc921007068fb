// cuBLASLt, where this machine has it: the products that Tailor's are held against. Found at run time.
#ifndef TAILOR_BENCH_GPU_CUBLAS_LT_H_
#define TAILOR_BENCH_GPU_CUBLAS_LT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "bench/gpu/gpu.h"

namespace tailor {

// y[M, N] = x w in bf16, sums in f32, all row-major; `x_transposed`: x is stored [K, M], `w_transposed`: w [N, K].
struct ProductShape {
  int64_t m, k, n;
  bool x_transposed = false, w_transposed = false;
};

class CublasLt {
 public:
  // The library that TAILOR_CUBLASLT names, else libcublasLt.so.13 or .12 where the dynamic loader finds it or in
  // /usr/local/cuda/lib64. Null, and `why` says what was looked for, where there is none.
  static CublasLt* Find(std::string* why);

  std::string name() const;  // "cuBLASLt 13.0.2"
  // What asks for the product in the GPU's stream, by the first algorithm that the library's heuristic gives for at
  // most 64 MiB of workspace. The memory outlives it. Throws NotMeasured where the library refuses.
  std::function<void()> Product(const Gpu& gpu, const ProductShape& shape, const GpuMemory& x, const GpuMemory& w,
                                const GpuMemory& y);

 private:
  struct Functions;
  explicit CublasLt(const Functions& functions) : functions_(functions) {}
  const Functions& functions_;
  void* handle_ = nullptr;
};

}  // namespace tailor

#endif  // TAILOR_BENCH_GPU_CUBLAS_LT_H_
