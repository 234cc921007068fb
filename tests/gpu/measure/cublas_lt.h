// cuBLASLt, the peer of Tailor's matmuls, if this machine has it. Found at run time.
#ifndef TAILOR_TESTS_GPU_MEASURE_CUBLAS_LT_H_
#define TAILOR_TESTS_GPU_MEASURE_CUBLAS_LT_H_

#include <cstdint>
#include <functional>
#include <string>

#include "exec/cuda/cublas_lt.h"
#include "tests/gpu/measure/gpu.h"

namespace tailor::bench {

// y[M, N] = x w in bf16, sums in f32, all row-major; `x_transposed`: x is stored [K, M], `w_transposed`: w [N, K].
struct GpuMatmulShape {
  int64_t m, k, n;
  bool x_transposed = false, w_transposed = false;
};

class CublasLtPeer {
 public:
  // The library of CublasLtPaths(). Null, and `why` says what was looked for, where there is none.
  static CublasLtPeer* Find(std::string* why);

  std::string name() const { return library_.VersionText(); }
  // What asks for the matmul in the GPU's stream, by the first algorithm that the library's heuristic gives for at
  // most 64 MiB of workspace. The memory outlives it. Throws NotMeasured where the library refuses.
  std::function<void()> Matmul(const Gpu& gpu, const GpuMatmulShape& shape, const GpuMemory& x, const GpuMemory& w,
                               const GpuMemory& y);

 private:
  CublasLtPeer() = default;
  CublasLt library_;
  cublas_lt::Handle handle_ = nullptr;
};

}  // namespace tailor::bench

#endif  // TAILOR_TESTS_GPU_MEASURE_CUBLAS_LT_H_
