#include "exec/tracing.h"

#include <time.h>

#include "exec/host_abi.h"

namespace tailor {

int64_t Tracing::Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000000000 + now.tv_nsec;
}

void Tracing::Mark(int32_t launch) {
  if (launch == kWithinLaunch) return;
  // A negative number converts to a large one.
  if (static_cast<uint32_t>(launch) < versions_.size()) Report(launch, versions_[launch], last_);
  last_ = Now();  // after the report, whose time is no launch's
}

void Tracing::Report(int32_t launch, int32_t version, int64_t begin) const {
  const TraceEvent event{sizeof(TraceEvent), launch, version, begin, Now()};
  options_.trace(options_.user, &event);
}

}  // namespace tailor
