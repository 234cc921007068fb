// Rows one after another, each looking ahead: while one is under way, the first stage of the next runs in the loops of
// a later stage (Schedule::ahead). What a core would wait for at the ends of reductions is then done, and loops that
// compute bring the next row along.
#ifndef TAILOR_CODEGEN_CPU_ROWS_AHEAD_H_
#define TAILOR_CODEGEN_CPU_ROWS_AHEAD_H_

#include <cstdint>

#include "codegen/cpu/stage_loops.h"
#include "codegen/cpu/task_digits.h"
#include "codegen/kernel_plan.h"
#include "codegen/schedule.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor {

// Elements: rows of larger launches do not look ahead. So many are in most last-level caches beside as many results,
// and rows that come from memory are read fastest when nothing else is.
constexpr int64_t kLargestLaunchAhead = 1 << 20;

// The stage in whose loops the first stage of the next row may run: the first of those after it that has its axes, the
// lane axis among them. 0: none, or the first stage leaves more than reductions and what it stores.
int StageToLookAheadIn(const KernelPlan& plan, int lane_axis);

// Whether the first stage writes row buffers. Then there are two sets of them, in turns.
bool KeepsAhead(const KernelPlan& plan);

// Tasks [first, end), the first of which `digits` stands at. `scratch` is this worker's, if the plan has any. They look
// ahead where `looks_ahead` (i1), and have all stages to themselves elsewhere.
void EmitRowsAhead(llvm::IRBuilderBase& b, const KernelPlan& plan, llvm::Value* scratch, llvm::Value* first,
                   llvm::Value* end, llvm::Value* looks_ahead, TaskDigits& digits, StageLoops& loops);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CPU_ROWS_AHEAD_H_
