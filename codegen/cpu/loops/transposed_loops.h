// Transpositions on a CPU (codegen/plan/transposition.h): squares of as many rows as a vector has lanes are read a row
// at a time, turned in registers, and written a column at a time. The lanes of a square are never gathered.
#ifndef TAILOR_CODEGEN_CPU_LOOPS_TRANSPOSED_LOOPS_H_
#define TAILOR_CODEGEN_CPU_LOOPS_TRANSPOSED_LOOPS_H_

#include <string>

#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "codegen/scalar/scalar_ops.h"
#include "llvm/IR/Module.h"

namespace tailor::cpu {

// Fills `schedule`, which has its lanes, and returns true where the plan is a transposition that squares are good for.
// `cost`: rough cycles for a vector of elements.
bool ScheduleTransposedLoops(const KernelPlan& plan, int64_t cost, Schedule& schedule);

// Adds a function per version, as EmitLoops. Requires schedule.cross_axis >= 0.
void EmitTransposedLoops(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                         const std::string& name, llvm::Module& module);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_TRANSPOSED_LOOPS_H_
