// Reductions over windows on CPUs: lanes run along rows of results (codegen/cpu/loops/row_windows.h) or across planes
// (codegen/cpu/loops/plane_windows.h). Where both are possible, the dim sizes of a launch decide.
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
