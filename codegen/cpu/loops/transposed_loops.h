// Transpositions on CPUs (codegen/plan/transposition.h). A square has as many rows as a vector has lanes: it is read by
// rows, transposed in registers and written by columns. So no lanes are gathered.
#ifndef TAILOR_CODEGEN_CPU_LOOPS_TRANSPOSED_LOOPS_H_
#define TAILOR_CODEGEN_CPU_LOOPS_TRANSPOSED_LOOPS_H_

#include <string>

#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "codegen/scalar/scalar_ops.h"
#include "llvm/IR/Module.h"

namespace tailor::cpu {

// Fills `schedule`, whose lanes are set, and returns true if the plan is a transposition that benefits from squares.
// `cost`: rough cycles per vector of elements.
bool ScheduleTransposedLoops(const KernelPlan& plan, int64_t cost, Schedule& schedule);

// Adds a function per version, as EmitLoops. Requires schedule.cross_axis >= 0.
void EmitTransposedLoops(const KernelPlan& plan, const Schedule& schedule, const EmitTarget& target,
                         const std::string& name, llvm::Module& module);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_TRANSPOSED_LOOPS_H_
