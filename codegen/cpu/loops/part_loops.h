// Versions of row kernels whose tasks are parts of rows, or of chunks of columns, for launches that have few and long
// ones: the global scheme of AStitch (sections 3.1 and 3.3, task splitting) between threads. A launch runs its phases
// one after the other, each a loop over all parts. Reductions leave what each part comes to in scratch of the launch,
// where the next phases put the parts of a row together in order: results depend on dim sizes alone.
#ifndef TAILOR_CODEGEN_CPU_LOOPS_PART_LOOPS_H_
#define TAILOR_CODEGEN_CPU_LOOPS_PART_LOOPS_H_

#include <cstdint>
#include <string>

#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "codegen/scalar/scalar_ops.h"
#include "llvm/IR/Module.h"

namespace tailor::cpu {

// Puts such a version before those of `schedule`, whose lanes and chunks are set, where dim sizes allow for it.
// `chunk_elements` are worth handing to a thread.
void AddPartsVersion(const KernelPlan& plan, int64_t chunk_elements, Schedule& schedule);

// Adds function `name` to `module`: a KernelFn, which is called once for each phase.
void EmitPartLoops(const KernelPlan& plan, const Schedule& schedule, const Version& version, const EmitTarget& target,
                   const std::string& name, llvm::Module& module);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_PART_LOOPS_H_
