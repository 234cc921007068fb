#include "codegen/emit_cpu.h"

namespace tailor {

Schedule ScheduleOnCpu(const KernelPlan& plan, const TargetTraits& traits) {
  if (!plan.links.empty()) return ScheduleChain(plan, traits);
  return plan.contraction ? ScheduleContraction(plan, traits) : ScheduleLoops(plan, traits);
}

absl::Status EmitOnCpu(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                       const std::string& name, llvm::Module& module) {
  const auto emit = !plan.links.empty() ? EmitChain : plan.contraction ? EmitContraction : EmitLoops;
  return emit(plan, schedule, target, name, module);
}

}  // namespace tailor
