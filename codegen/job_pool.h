// Runs independent jobs of a compilation on a few threads.
#ifndef TAILOR_CODEGEN_JOB_POOL_H_
#define TAILOR_CODEGEN_JOB_POOL_H_

#include <functional>

#include "absl/status/status.h"

namespace tailor {

// Runs job(0) to job(count - 1) on up to `threads` threads, the caller's among them, started in order. `report` gets
// the share done, between jobs and on the caller's thread only. After a failure of either no job is started;
// returns the failure of the lowest job that failed, else the report's. What the lowest job that failed has thrown, on
// whatever thread, is thrown on the caller's when all threads have ended.
absl::Status RunJobs(int threads, int count, const std::function<absl::Status(int)>& job,
                     const std::function<absl::Status(double)>& report);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_JOB_POOL_H_
