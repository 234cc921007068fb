#include "exec/tracing.h"

#include <time.h>

namespace tailor {

int64_t Tracing::Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

void Tracing::Mark(int32_t launch, int32_t phase) {
  if (options_.phases != nullptr) options_.phases(options_.phases_user, launch, phase);
  if (options_.events == nullptr) return;
  if (phase == 0) {
    launch_begin_ = Now();
  } else {
    Report(launch, versions_[launch], launch_begin_);
  }
}

void Tracing::Report(int32_t launch, int32_t version, int64_t begin) const {
  const TraceEvent event{sizeof(TraceEvent), launch, version, begin, Now()};
  options_.events(options_.events_user, &event);
}

}  // namespace tailor
