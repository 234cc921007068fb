// Versions of row kernels whose tasks are parts of rows, or of chunks of columns, for launches with few, long rows: the
// global scheme of AStitch (sections 3.1 and 3.3, task splitting) between threads. A launch runs its phases in order,
// each a loop over all parts. Reductions store the result of each part in scratch of the launch, where later phases
// combine the parts of a row in order. So results depend only on dim sizes.
#ifndef TAILOR_CODEGEN_CPU_LOOPS_PART_LOOPS_H_
#define TAILOR_CODEGEN_CPU_LOOPS_PART_LOOPS_H_

#include <cstdint>
#include <string>

#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "codegen/scalar/scalar_ops.h"
#include "llvm/IR/Module.h"

namespace tailor::cpu {

// Inserts such a version before those of `schedule`, whose lanes and chunks are set, where dim sizes allow it.
// `chunk_elements`: elements that are worth handing to a thread.
void AddSplitVersion(const KernelPlan& plan, int64_t chunk_elements, Schedule& schedule);

// Adds function `name` to `module`: a KernelFn that is called once per phase.
void EmitPartLoops(const KernelPlan& plan, const Schedule& schedule, const Version& version, const EmitTarget& target,
                   const std::string& name, llvm::Module& module);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_PART_LOOPS_H_
