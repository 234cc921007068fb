// Reductions over windows whose lanes run along rows of results. A task is a block of results. It first copies the part
// of the image that its windows read to a staging buffer on the stack, padding included, so that windows need no masks.
// Elements a stride apart are contiguous there. Then some rows of results at a time take each vector of the image that
// they share. Each result combines its window in the plan's order.
#ifndef TAILOR_CODEGEN_CPU_LOOPS_ROW_WINDOWS_H_
#define TAILOR_CODEGEN_CPU_LOOPS_ROW_WINDOWS_H_

#include <string>

#include "codegen/cpu/loops/windowed_reduction.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "codegen/scalar/scalar_ops.h"
#include "llvm/IR/Module.h"

namespace tailor::cpu {

// Results of a task along a side of windows, at most; 0 where what they read does not fit a thread's stack.
int64_t RowBlock(const KernelPlan& plan, const WindowedReduction& windows, size_t side, int lanes);

// Adds function `name`, a KernelFn.
void EmitRowWindows(const KernelPlan& plan, const WindowedReduction& windows, const Schedule& schedule,
                    const Version& version, const EmitTarget& target, const std::string& name, llvm::Module& module);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_ROW_WINDOWS_H_
