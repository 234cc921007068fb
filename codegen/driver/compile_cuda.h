// From kernels and host steps to variants for NVIDIA GPUs: a host program for this side, images of kernels for that.
#ifndef TAILOR_CODEGEN_DRIVER_COMPILE_CUDA_H_
#define TAILOR_CODEGEN_DRIVER_COMPILE_CUDA_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/cuda/ptx/target.h"
#include "codegen/driver/compile_variants.h"

namespace tailor::driver {

// A variant for each target, in their order, from a program that was lowered for GPUs. Schedules are a target's own;
// the host program is for the least of the CPU levels. PTX, for architectures to come, is with the last target that
// has it alone. `report` as in RunJobs. A failure names the target and the kernel.
absl::StatusOr<std::vector<CompiledVariant>> CompileCudaVariants(const lower::LoweredProgram& program,
                                                                 const std::vector<cuda::CudaTarget>& targets,
                                                                 const CodeBounds& bounds, int threads,
                                                                 const std::function<absl::Status(double)>& report);

}  // namespace tailor::driver

#endif  // TAILOR_CODEGEN_DRIVER_COMPILE_CUDA_H_
