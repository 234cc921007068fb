// Emits matmuls on CPUs.
#ifndef TAILOR_CODEGEN_CPU_GEMM_EMIT_CONTRACTION_H_
#define TAILOR_CODEGEN_CPU_GEMM_EMIT_CONTRACTION_H_

#include <string>

#include "absl/status/status.h"
#include "codegen/ir/emit_target.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "llvm/IR/Module.h"

namespace tailor::gemm {

// Adds one function per version to `module`, named `<name>_v<i>`, with the KernelFn signature (exec/host_abi.h). They
// call MicroKernelsOf(plan, schedule), which are not defined here.
// Requires plan.IsContraction(), and a schedule without Winograd tiles (codegen/cpu/conv).
absl::Status EmitContraction(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                             const std::string& name, llvm::Module& module);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_EMIT_CONTRACTION_H_
