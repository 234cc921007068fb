// From kernels and host steps to machine code: one image per target.
#ifndef TAILOR_CODEGEN_COMPILE_VARIANTS_H_
#define TAILOR_CODEGEN_COMPILE_VARIANTS_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/build_host_program.h"
#include "codegen/code_bounds.h"
#include "codegen/describe_variant.h"
#include "codegen/target_machine.h"

namespace tailor {

// Emits every kernel and the host program for each target, in modules that compile in parallel, and links them. How
// kernels are split into modules does not depend on `threads`, so the bytes do not either. `report` as in RunJobs.
// RESOURCE_EXHAUSTED naming the target whose code is above the bound however few versions its kernels have.
absl::StatusOr<std::vector<CompiledVariant>> CompileVariants(const LoweredProgram& program,
                                                             const std::vector<CpuTarget>& targets,
                                                             const CodeBounds& bounds, int threads,
                                                             const std::function<absl::Status(double)>& report);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_COMPILE_VARIANTS_H_
