// The entry points of the CPU backend for one kernel of any kind: loops and rows, matmuls, Winograd convolutions,
// chains of these.
#ifndef TAILOR_CODEGEN_CPU_EMIT_CPU_H_
#define TAILOR_CODEGEN_CPU_EMIT_CPU_H_

#include <string>

#include "absl/status/status.h"
#include "codegen/ir/emit_target.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "fusion/target_traits.h"
#include "llvm/IR/Module.h"

namespace tailor::cpu {

Schedule ScheduleOnCpu(const KernelPlan& plan, const TargetTraits& traits);

// Verifies `schedule` (INTERNAL), then adds one function per version to `module`, named `<name>_v<i>`, with the
// KernelFn signature (exec/host_abi.h).
absl::Status EmitOnCpu(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                       const std::string& name, llvm::Module& module);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_EMIT_CPU_H_
