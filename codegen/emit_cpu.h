// CPU emission: each takes a plan and its schedule and adds one function per version to `module`,
// named `<name>_v<i>`, with the KernelFn signature.
#ifndef TAILOR_CODEGEN_EMIT_CPU_H_
#define TAILOR_CODEGEN_EMIT_CPU_H_

#include <string>

#include "absl/status/status.h"
#include "codegen/kernel_plan.h"
#include "codegen/scalar_ops.h"
#include "codegen/schedule.h"
#include "fusion/target_traits.h"
#include "llvm/IR/Module.h"

namespace tailor {

// Loops and row kernels (codegen/cpu).
// With `whole_rows_only` a task is one row, in the order of the plan's parallel axes: lanes run within it.
Schedule ScheduleLoops(const KernelPlan& plan, const TargetTraits& traits, bool whole_rows_only = false);
absl::Status EmitLoops(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                       const std::string& name, llvm::Module& module);

// Matrix products (codegen/gemm). Requires plan.contraction.
Schedule ScheduleContraction(const KernelPlan& plan, const TargetTraits& traits);
absl::Status EmitContraction(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                             const std::string& name, llvm::Module& module);

// Chains of them (codegen/chain). Requires plan.links.
Schedule ScheduleChain(const KernelPlan& plan, const TargetTraits& traits);
absl::Status EmitChain(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                       const std::string& name, llvm::Module& module);

// Whichever the plan is.
Schedule ScheduleOnCpu(const KernelPlan& plan, const TargetTraits& traits);
absl::Status EmitOnCpu(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                       const std::string& name, llvm::Module& module);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_EMIT_CPU_H_
