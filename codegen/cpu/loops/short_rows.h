// Versions of row kernels for rows shorter than a vector, which would leave lanes idle: lanes run across rows (AStitch
// section 3.3, task packing: rows share a vector). The tensors' rows are transposed in registers into row buffers, a
// group of rows at a time, and the results back. The choice depends on the length of rows only, so that a row's sums
// have the same order whatever the number of rows is.
#ifndef TAILOR_CODEGEN_CPU_LOOPS_SHORT_ROWS_H_
#define TAILOR_CODEGEN_CPU_LOOPS_SHORT_ROWS_H_

#include <string>

#include "absl/status/status.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "codegen/scalar/scalar_ops.h"
#include "llvm/IR/Module.h"

namespace tailor::cpu {

// Whether rows have a constant length for which lanes should run along them, for such a version: rows of few elements
// that are only read are loaded by shuffles instead.
bool HasShortRows(const KernelPlan& plan, int lanes);

// Inserts such a version before those of `schedule`, whose lanes are set, where the plan has one axis of rows, one
// along them, and tensors of 4-byte elements whose rows are contiguous.
void AddShortRowsVersion(const KernelPlan& plan, Schedule& schedule);

// Adds function `name` to `module`: a KernelFn. INTERNAL if the plan has no such version.
absl::Status EmitShortRows(const KernelPlan& plan, const Schedule& schedule, const Version& version,
                           const EmitTarget& target, const std::string& name, llvm::Module& module);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_SHORT_ROWS_H_
