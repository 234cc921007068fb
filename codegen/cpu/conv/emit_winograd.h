// Emits 3 x 3 convolutions by Winograd's F(2x2, 3x3) on CPUs (codegen/cpu/conv/winograd.h).
#ifndef TAILOR_CODEGEN_CPU_CONV_EMIT_WINOGRAD_H_
#define TAILOR_CODEGEN_CPU_CONV_EMIT_WINOGRAD_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "codegen/cpu/gemm/micro_kernel.h"
#include "codegen/ir/emit_target.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "llvm/IR/Module.h"

namespace tailor::gemm {

// The micro-kernels that EmitWinograd's functions call.
std::vector<MicroKernel> WinogradMicroKernels(const KernelPlan& plan, const Schedule& schedule);

// Adds one function per version to `module`, named `<name>_v<i>`, with the KernelFn signature (exec/host_abi.h).
// Requires a schedule with Winograd tiles.
absl::Status EmitWinograd(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                          const std::string& name, llvm::Module& module);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_CONV_EMIT_WINOGRAD_H_
