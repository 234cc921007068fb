// Emits chains of contractions and loops on CPUs: one task takes a block of rows through all links.
#ifndef TAILOR_CODEGEN_CPU_CHAIN_EMIT_CHAIN_H_
#define TAILOR_CODEGEN_CPU_CHAIN_EMIT_CHAIN_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "codegen/ir/emit_target.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "llvm/IR/Module.h"

namespace tailor::cpu {

// Rows between the matmuls of chains. The function is named after what it computes: chains of equal rows call one.
struct RowLink {
  std::string name;  // of the function
  KernelPlan plan;
  Schedule schedule;
};

// The rows of a chain, which its function calls.
std::vector<RowLink> RowLinksOf(const KernelPlan& plan, const Schedule& schedule);

// Adds the function of a link to `module`.
absl::Status EmitRowLink(const RowLink& link, const EmitTarget& target, llvm::Module& module);

// Adds the function `<name>_v0` to `module`, with the KernelFn signature (exec/host_abi.h). It calls the functions of
// RowLinksOf, which are not defined here. Requires plan.IsChain().
absl::Status EmitChain(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                       const std::string& name, llvm::Module& module);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_CHAIN_EMIT_CHAIN_H_
