// Which versions of a matmul are worth their code, where they are more than the limit.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_RANK_VERSIONS_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_RANK_VERSIONS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/plan/kernel_plan.h"

namespace tailor::cuda {

// While there are more than `most` versions, drops one of those that the host chooses by clocks: the one whose loss
// raises the least clocks by the smallest factor, as a geometric mean over dim sizes and numbers of multiprocessors.
// Versions that a guard alone selects (streams of few rows) are kept. The last version has no guards. Adds a text for
// each dropped version to `dropped`.
void DropByClocks(const KernelPlan& plan, size_t most, CudaSchedule& schedule, std::vector<std::string>& dropped);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_RANK_VERSIONS_H_
