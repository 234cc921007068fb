// Live intervals of buffers over a straight-line list of steps (DISC section 4.2.2).
#ifndef TAILOR_ANALYSIS_LIVENESS_H_
#define TAILOR_ANALYSIS_LIVENESS_H_

#include <vector>

#include "absl/types/span.h"

namespace tailor {

// Steps [first, last] during which a buffer holds a value that is or will be read. A buffer that is written but never
// read lives through its last write. first == -1: no step accesses it.
struct LiveInterval {
  int first = -1;
  int last = -1;
  bool Overlaps(const LiveInterval& other) const {
    return first >= 0 && other.first >= 0 && first <= other.last && other.first <= last;
  }
  friend bool operator==(const LiveInterval&, const LiveInterval&) = default;
};

// Buffer indices that one step reads and writes.
struct StepAccess {
  std::vector<int> reads;
  std::vector<int> writes;
};

std::vector<LiveInterval> LiveIntervals(absl::Span<const StepAccess> steps, int buffer_count);

}  // namespace tailor

#endif  // TAILOR_ANALYSIS_LIVENESS_H_
