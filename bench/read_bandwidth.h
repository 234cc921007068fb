// The speed at which one core reads memory that it has read before: the reference of matmuls with few rows.
#ifndef TAILOR_BENCH_READ_BANDWIDTH_H_
#define TAILOR_BENCH_READ_BANDWIDTH_H_

#include <cstdint>

namespace tailor::bench {

// Reads `count` numbers, rounded down to whole blocks, with the widest loads of this CPU: blocks in order, each as
// eight parallel streams. `block` is a multiple of 128; with 128 the memory is read sequentially.
float ReadOnce(const float* numbers, int64_t count, int64_t block);

}  // namespace tailor::bench

#endif  // TAILOR_BENCH_READ_BANDWIDTH_H_
