// What every CudaSchedule has to be, whoever made it.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_VERIFY_CUDA_SCHEDULE_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_VERIFY_CUDA_SCHEDULE_H_

#include "absl/status/status.h"
#include "codegen/cuda/schedule/cuda_schedule.h"

namespace tailor::cuda {

// INTERNAL naming the plan, the part and what is wrong with it. Checks that
// - the shape of each version is one of the plan's form, and its threads are those of its tile;
// - numbers are in range, and fields that the shape has no use for are those of a new CudaVersion;
// - expressions are over slots of the plan, and over workers where the host evaluates them so;
// - the last version has no guards, and flags are backed by guards (VerifyVersion).
// What it cannot tell is speed, and what a block's shared memory holds.
absl::Status VerifyCudaSchedule(const KernelPlan& plan, const CudaSchedule& schedule);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_VERIFY_CUDA_SCHEDULE_H_
