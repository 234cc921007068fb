// Emits chains of contractions and loops on CPUs: one task takes a block of rows through all links.
#ifndef TAILOR_CODEGEN_CPU_CHAIN_EMIT_CHAIN_H_
#define TAILOR_CODEGEN_CPU_CHAIN_EMIT_CHAIN_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "codegen/ir/emit_target.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "llvm/IR/Module.h"

namespace tailor::cpu {

// The function of the rows between a chain's matmuls. Its name is a hash of its plan and schedule: chains of equal rows
// call the same function.
struct RowsFunction {
  std::string name;
  std::function<absl::Status(llvm::Module&)> emit;  // adds it to a module; reads the plan
};

// What the function of a chain calls. `plan` outlives the results.
std::vector<RowsFunction> RowsOfChain(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target);

// Adds the function `<name>_v0` to `module`, with the KernelFn signature (exec/host_abi.h). It calls the functions of
// RowsOfChain, which are not defined here. Requires plan.IsChain().
absl::Status EmitChain(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                       const std::string& name, llvm::Module& module);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_CHAIN_EMIT_CHAIN_H_
