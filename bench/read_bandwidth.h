// How fast one core reads memory that it read before: what products with few rows are judged against.
#ifndef TAILOR_BENCH_READ_BANDWIDTH_H_
#define TAILOR_BENCH_READ_BANDWIDTH_H_

#include <cstdint>

namespace tailor::bench {

// Reads `count` numbers but for a rest below `block`, with the widest loads of this CPU: blocks in order, each as eight
// streams side by side. `block` is a multiple of 128; with 128 the memory is read from one end to the other.
float ReadOnce(const float* numbers, int64_t count, int64_t block);

}  // namespace tailor::bench

#endif  // TAILOR_BENCH_READ_BANDWIDTH_H_
