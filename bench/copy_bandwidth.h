// Memory bandwidth, measured by a copy with streaming stores: the reference of streaming kernels.
#ifndef TAILOR_BENCH_COPY_BANDWIDTH_H_
#define TAILOR_BENCH_COPY_BANDWIDTH_H_

#include <cstdint>

namespace tailor::bench {

// Copies with non-temporal stores, so that no line of `to` is read first: `count` floats move 8 * count bytes. Both
// 64-byte aligned, `count` a multiple of 16, not overlapping.
void CopyPastCaches(const float* from, float* to, int64_t count);

// Elements of an f32 tensor of four times the last-level cache, at least 64 MiB and at most an eighth of the free
// memory.
int64_t BeyondCacheElements();

}  // namespace tailor::bench

#endif  // TAILOR_BENCH_COPY_BANDWIDTH_H_
