// Emits loops and row kernels on CPUs.
#ifndef TAILOR_CODEGEN_CPU_LOOPS_EMIT_LOOPS_H_
#define TAILOR_CODEGEN_CPU_LOOPS_EMIT_LOOPS_H_

#include <string>

#include "absl/status/status.h"
#include "codegen/ir/emit_target.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "llvm/IR/Module.h"

namespace tailor::cpu {

// Adds one function per version to `module`, named `<name>_v<i>`, with the KernelFn signature (exec/host_abi.h).
absl::Status EmitLoops(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                       const std::string& name, llvm::Module& module);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_EMIT_LOOPS_H_
