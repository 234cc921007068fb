// Reads an f32 array once, for the caller to time: the read bandwidth of one core, the reference of matmuls with few
// rows.
#ifndef TAILOR_BENCH_READ_BANDWIDTH_H_
#define TAILOR_BENCH_READ_BANDWIDTH_H_

#include <cstdint>

namespace tailor::bench {

// Reads `count` floats, rounded down to whole blocks, with the widest loads of this CPU. Blocks are read in order, each
// as eight parallel streams. `block`: floats per block, a multiple of 128; with 128 the memory is read sequentially.
// The result is a sum of some elements, so that the compiler keeps the loads; callers ignore it.
float ReadOnce(const float* numbers, int64_t count, int64_t block);

}  // namespace tailor::bench

#endif  // TAILOR_BENCH_READ_BANDWIDTH_H_
