// The entry points of the CPU backend for one kernel of any kind: loops and rows, matmuls, Winograd convolutions,
// chains of these.
#ifndef TAILOR_CODEGEN_CPU_EMIT_CPU_H_
#define TAILOR_CODEGEN_CPU_EMIT_CPU_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/contract/cost_profile.h"
#include "codegen/cpu/chain/emit_chain.h"
#include "codegen/cpu/gemm/micro_kernel.h"
#include "codegen/ir/emit_target.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "fusion/target_traits.h"
#include "llvm/IR/Module.h"

namespace tailor::cpu {

// `costs`: as of ScheduleContraction.
Schedule ScheduleOnCpu(const KernelPlan& plan, const TargetTraits& traits, const CostProfile* costs = nullptr);

// Verifies `schedule` (INTERNAL), then adds one function per version to `module`, named `<name>_v<i>`, with the
// KernelFn signature (exec/host_abi.h). They call functions that are defined elsewhere in the image: MicroKernelsOf and
// RowsCalledBy.
absl::Status EmitOnCpu(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                       const std::string& name, llvm::Module& module);

// The micro-kernels that EmitOnCpu's functions call, all of which EmitMicroKernel (codegen/cpu/gemm) defines.
absl::StatusOr<std::vector<gemm::MicroKernel>> MicroKernelsOf(const KernelPlan& plan, const Schedule& schedule);

// The rows of chains that EmitOnCpu's functions call. `plan` outlives the results.
std::vector<RowsFunction> RowsCalledBy(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_EMIT_CPU_H_
