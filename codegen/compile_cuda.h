// From kernels and host steps to variants for NVIDIA GPUs: a host program for this side, images of kernels for that.
#ifndef TAILOR_CODEGEN_COMPILE_CUDA_H_
#define TAILOR_CODEGEN_COMPILE_CUDA_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/compile_variants.h"
#include "codegen/cuda/cuda_target.h"

namespace tailor {

// A variant for each target, in their order, from a program that was lowered for GPUs. Schedules are a target's own;
// the host program is for the least of the CPU levels. PTX, for architectures to come, is with the last target that
// has it alone. `report` as in RunJobs. A failure names the target and the kernel.
absl::StatusOr<std::vector<CompiledVariant>> CompileCudaVariants(const LoweredProgram& program,
                                                                 const std::vector<CudaTarget>& targets,
                                                                 const CodeBounds& bounds, int threads,
                                                                 const std::function<absl::Status(double)>& report);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_COMPILE_CUDA_H_
