// The invariants of every CudaSchedule, from whatever source.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_VERIFY_CUDA_SCHEDULE_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_VERIFY_CUDA_SCHEDULE_H_

#include "absl/status/status.h"
#include "codegen/cuda/schedule/cuda_schedule.h"

namespace tailor::cuda {

// INTERNAL with the plan, the part and the violation. Checks that
// - the shape of each version fits the plan's form, and its threads are those of its tile;
// - numbers are in range, and fields that the shape does not use have their defaults;
// - expressions are over slots of the plan, and over workers where the host evaluates them so;
// - the last version has no guards, and flags are backed by guards (VerifyVersion).
// Not checked: speed, and the size of a block's shared memory.
absl::Status VerifyCudaSchedule(const KernelPlan& plan, const CudaSchedule& schedule);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_VERIFY_CUDA_SCHEDULE_H_
