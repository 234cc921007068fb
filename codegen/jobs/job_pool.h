// Runs independent jobs of a compilation on a few threads.
#ifndef TAILOR_CODEGEN_JOBS_JOB_POOL_H_
#define TAILOR_CODEGEN_JOBS_JOB_POOL_H_

#include <cstddef>
#include <functional>

#include "absl/status/status.h"

namespace tailor {

// Stack bytes per thread: LLVM recurses deeply, and the caller's stack may be small.
inline constexpr size_t kJobStackBytes = size_t{8} << 20;

// Runs job(0) to job(count - 1), started in order, on up to `threads` threads with stacks of kJobStackBytes; on the
// caller's thread if the system gives none. After each job, `report` gets the share done (0 to 1) on the caller's
// thread. After a failure of a job or of `report`, no further job starts. Returns the failure of the lowest failed job,
// else that of `report`. An exception of the lowest failed job is rethrown on the caller's thread after all threads
// have ended.
absl::Status RunJobs(int threads, int count, const std::function<absl::Status(int)>& job,
                     const std::function<absl::Status(double)>& report);

// Runs one job on such a thread; its visits (graph/visits.h) count for the caller's thread.
absl::Status RunJob(const std::function<absl::Status()>& job);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_JOBS_JOB_POOL_H_
