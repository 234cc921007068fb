// From kernels and host steps to machine code: one image per target.
#ifndef TAILOR_CODEGEN_DRIVER_COMPILE_VARIANTS_H_
#define TAILOR_CODEGEN_DRIVER_COMPILE_VARIANTS_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/driver/code_bounds.h"
#include "codegen/driver/describe_variant.h"
#include "codegen/link/target_machine.h"
#include "codegen/lower/lowered_program.h"

namespace tailor::driver {

// Emits every kernel and the host program for each target, in modules that compile in parallel, and links them. How
// kernels are split into modules does not depend on `threads`, so the bytes do not either. `report` as in RunJobs.
// RESOURCE_EXHAUSTED naming the target whose code is above the bound however few versions its kernels have.
absl::StatusOr<std::vector<CompiledVariant>> CompileVariants(const lower::LoweredProgram& program,
                                                             const std::vector<CpuTarget>& targets,
                                                             const CodeBounds& bounds, int threads,
                                                             const std::function<absl::Status(double)>& report);

}  // namespace tailor::driver

#endif  // TAILOR_CODEGEN_DRIVER_COMPILE_VARIANTS_H_
