// Rows in flight: while one is under way, the first stage of the next runs in the loops of a later stage
// (Schedule::ahead), and so may the last stage of the row before (Schedule::behind). What a core would wait for at the
// ends of reductions is then done, and loops that compute load and store for their neighbours. (Stores then alternate
// between the output and row buffers, which stay in the first cache.)
#ifndef TAILOR_CODEGEN_CPU_LOOPS_ROWS_IN_FLIGHT_H_
#define TAILOR_CODEGEN_CPU_LOOPS_ROWS_IN_FLIGHT_H_

#include <cstdint>

#include "codegen/cpu/loops/stage_loops.h"
#include "codegen/cpu/loops/task_digits.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::cpu {

// Elements: rows of larger launches are not in flight together. So many are in most last-level caches beside as many
// results, and rows that come from memory are read fastest when nothing else is.
constexpr int64_t kLargestLaunchInFlight = 1 << 20;

// The stage in whose loops the first stage of the next row may run: the first of those after it that has its axes, the
// lane axis among them. 0: none, or the first stage leaves more than reductions and what it stores.
int StageToLookAheadIn(const KernelPlan& plan, int lane_axis);

// Whether the last stage may run in the loops of stage `ahead` of the next row: it comes later, has its axes, and
// stores.
bool LeavesLastStage(const KernelPlan& plan, int ahead);

// Whether the first stage writes row buffers.
bool KeepsAhead(const KernelPlan& plan);

// How many sets of row buffers rows in flight take turns with.
int RowBufferSets(const KernelPlan& plan, const Schedule& schedule);

// Tasks [first, end), the first of which `digits` stands at, where it is `allowed` (i1) and they are several. `scratch`
// is this worker's, if the plan has any. Returns the first task that is left to do: `first` or `end`; the buffers of
// the row at hand are at `scratch` again.
llvm::Value* EmitRowsInFlight(llvm::IRBuilderBase& b, const KernelPlan& plan, const Schedule& schedule,
                              llvm::Value* scratch, llvm::Value* first, llvm::Value* end, llvm::Value* allowed,
                              TaskDigits& digits, StageLoops& loops);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_ROWS_IN_FLIGHT_H_
