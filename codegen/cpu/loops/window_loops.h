// Reductions over windows on CPUs. A task is a block of results. It first copies the part of the image that its windows
// read to a staging buffer on the stack, padding included, so that windows need no masks. Elements a stride apart are
// contiguous there. Then some rows of results at a time take each vector of the image that they share. Each result
// combines its window in the plan's order.
#ifndef TAILOR_CODEGEN_CPU_LOOPS_WINDOW_LOOPS_H_
#define TAILOR_CODEGEN_CPU_LOOPS_WINDOW_LOOPS_H_

#include <string>

#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "codegen/scalar/scalar_ops.h"
#include "llvm/IR/Module.h"

namespace tailor::cpu {

// Fills `schedule`, whose lanes are set, and returns true if the plan is such a reduction
// (codegen/cpu/loops/windowed_reduction.h). `cost`: rough cycles per vector of elements.
bool ScheduleWindowLoops(const KernelPlan& plan, int64_t cost, Schedule& schedule);

// Adds a function per version, as EmitLoops. Requires schedule.windows.
void EmitWindowLoops(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                     const std::string& name, llvm::Module& module);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_WINDOW_LOOPS_H_
