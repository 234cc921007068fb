// Versions in which several blocks share a row, or some columns, for plans with few and long ones.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_PARTS_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_PARTS_H_

#include <cstdint>
#include <optional>

#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/plan/kernel_plan.h"
#include "fusion/target_traits.h"

namespace tailor::cuda {

// The maximum number of parts of a launch: several per resident block on the largest GPUs, so that blocks finish at
// about the same time, and few enough that combining them costs little.
inline constexpr int64_t kMostGpuParts = 4096;

// The version `whole` (kRows with one row per block, or kColumns) with each point, or 32 columns, split into parts that
// any block takes (AStitch section 3.3, task splitting, and 4.5). It is tried first; its guards require that a point
// has the elements of at least two parts, and that points are too few to fill a GPU. The number of parts depends only
// on dim sizes, so results are the same on every GPU. nullopt if no dim sizes qualify, or if the plan has no reduction.
std::optional<CudaVersion> SplitIntoParts(const KernelPlan& plan, const TargetTraits& traits, const SlotExpr& points,
                                          CudaVersion whole);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_PARTS_H_
