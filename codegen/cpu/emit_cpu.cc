#include "codegen/cpu/emit_cpu.h"

#include "codegen/cpu/chain/emit_chain.h"
#include "codegen/cpu/conv/emit_winograd.h"
#include "codegen/cpu/gemm/emit_contraction.h"
#include "codegen/cpu/gemm/micro_kernels.h"
#include "codegen/cpu/loops/emit_loops.h"
#include "codegen/cpu/schedule/schedule_chain.h"
#include "codegen/cpu/schedule/schedule_contraction.h"
#include "codegen/cpu/schedule/schedule_loops.h"
#include "codegen/plan/verify_schedule.h"
#include "graph/status_macros.h"

namespace tailor::cpu {

Schedule ScheduleOnCpu(const KernelPlan& plan, const TargetTraits& traits, const CostProfile* costs) {
  if (plan.IsChain()) return ScheduleChain(plan, traits);
  return plan.IsContraction() ? ScheduleContraction(plan, traits, /*in_chain=*/false, costs)
                              : ScheduleLoops(plan, traits);
}

absl::Status EmitOnCpu(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                       const std::string& name, llvm::Module& module) {
  TAILOR_RETURN_IF_ERROR(VerifySchedule(plan, schedule));
  if (plan.IsChain()) return EmitChain(plan, schedule, target, name, module);
  if (!plan.IsContraction()) return EmitLoops(plan, schedule, target, name, module);
  const bool winograd = schedule.tile.winograd_tiles > 0;
  return (winograd ? gemm::EmitWinograd : gemm::EmitContraction)(plan, schedule, target, name, module);
}

absl::StatusOr<std::vector<gemm::MicroKernel>> MicroKernelsOf(const KernelPlan& plan, const Schedule& schedule) {
  std::vector<gemm::MicroKernel> kernels;
  if (plan.IsChain()) {
    for (size_t i = 0; i < plan.links().size(); ++i) {
      TAILOR_ASSIGN_OR_RETURN(const auto of_link, MicroKernelsOf(plan.links()[i].plan, schedule.links[i]));
      kernels.insert(kernels.end(), of_link.begin(), of_link.end());
    }
    return kernels;
  }
  if (!plan.IsContraction()) return kernels;
  if (schedule.tile.winograd_tiles > 0) return gemm::WinogradMicroKernels(plan, schedule);
  return gemm::MicroKernelsOf(plan, schedule);
}

std::vector<RowsFunction> RowsCalledBy(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target) {
  if (!plan.IsChain()) return {};
  return RowsOfChain(plan, schedule, target);
}

}  // namespace tailor::cpu
