// Versions of loops whose threads share rows: several blocks, a block, a warp or a few threads per row.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_ROWS_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_ROWS_H_

#include <cstdint>
#include <vector>

#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/plan/kernel_plan.h"
#include "fusion/target_traits.h"

namespace tailor::cuda {

inline constexpr int64_t kMaxRowBlocks = 65536;

// Bytes of shared memory for partial results of the reductions of one stage, the one with the most.
int64_t ReductionBytes(const KernelPlan& plan, const CudaVersion& version);

// The kRows versions in the order of trial, each with `version`'s guards; `rows` is the product of the parallel axes'
// dim sizes. The last has no further guards.
std::vector<CudaVersion> ScheduleRows(const KernelPlan& plan, const TargetTraits& traits, const SlotExpr& rows,
                                      Version version);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_ROWS_H_
