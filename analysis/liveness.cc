#include "analysis/liveness.h"

namespace tailor {

std::vector<LiveInterval> LiveIntervals(absl::Span<const StepAccess> steps, int buffer_count) {
  std::vector<LiveInterval> intervals(buffer_count);
  for (int step = 0; step < static_cast<int>(steps.size()); ++step) {
    for (const std::vector<int>* touched : {&steps[step].reads, &steps[step].writes}) {
      for (int buffer : *touched) {
        LiveInterval& interval = intervals[buffer];
        if (interval.first < 0) interval.first = step;
        interval.last = step;
      }
    }
  }
  return intervals;
}

}  // namespace tailor
