// Versions in which several blocks share a row, or some columns, for plans that have few of them and long ones.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_PARTS_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_PARTS_H_

#include <cstdint>
#include <optional>

#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/plan/kernel_plan.h"
#include "fusion/target_traits.h"

namespace tailor::cuda {

// Of a launch in all: several for each block that runs at the same time on the largest GPUs, so that none waits long
// for the last ones, and few enough that putting them together costs little.
inline constexpr int64_t kMostGpuParts = 4096;

// `whole`, a version of kRows with a row a block or of kColumns, with each point, or 32 columns, cut into parts that
// any block takes (AStitch section 3.3, task splitting, and 4.5): taken before all others where a point has at least
// two parts' elements and points alone would not fill a GPU. How many parts there are depends on dim sizes alone, so
// results are the same on every GPU. Nothing where no dim sizes are such, or where the plan reduces nothing.
std::optional<CudaVersion> InParts(const KernelPlan& plan, const TargetTraits& traits, const SlotExpr& points,
                                   CudaVersion whole);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_SCHEDULE_PARTS_H_
