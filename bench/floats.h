// Large arrays of f32 that benchmarks read and write.
#ifndef TAILOR_BENCH_FLOATS_H_
#define TAILOR_BENCH_FLOATS_H_

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace tailor::bench {

struct FreeFloats {
  void operator()(float* memory) const { std::free(memory); }
};
using Floats = std::unique_ptr<float[], FreeFloats>;

// `count` floats of value 1, on huge pages if the system has them, like Tailor's own buffers. Every page has been
// touched.
inline Floats TouchedFloats(int64_t count) {
  constexpr int64_t kLargePage = 1 << 21;
  const int64_t bytes = (count * static_cast<int64_t>(sizeof(float)) + kLargePage - 1) / kLargePage * kLargePage;
  Floats floats(static_cast<float*>(std::aligned_alloc(kLargePage, bytes)));
  madvise(floats.get(), bytes, MADV_HUGEPAGE);
  std::fill_n(floats.get(), count, 1.0f);
  return floats;
}

}  // namespace tailor::bench

#endif  // TAILOR_BENCH_FLOATS_H_
