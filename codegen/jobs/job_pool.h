// Runs independent jobs of a compilation on a few threads.
#ifndef TAILOR_CODEGEN_JOBS_JOB_POOL_H_
#define TAILOR_CODEGEN_JOBS_JOB_POOL_H_

#include <cstddef>
#include <functional>

#include "absl/status/status.h"

namespace tailor {

// Of each thread: LLVM recurses along what it compiles, and the caller's stack may be small.
inline constexpr size_t kJobStackBytes = size_t{8} << 20;

// Runs job(0) to job(count - 1), started in order, on up to `threads` threads with stacks of kJobStackBytes; on the
// caller's where the system gives none. `report` gets the share done after each job, on the caller's thread. After a
// failure of either no job is started; returns the failure of the lowest job that failed, else the report's. What the
// lowest job that failed has thrown is thrown on the caller's thread when all threads have ended.
absl::Status RunJobs(int threads, int count, const std::function<absl::Status(int)>& job,
                     const std::function<absl::Status(double)>& report);

// One job, whose visits (graph/visits.h) count for the caller's thread.
absl::Status RunJob(const std::function<absl::Status()>& job);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_JOBS_JOB_POOL_H_
