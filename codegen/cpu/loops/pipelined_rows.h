// Software-pipelined rows: while a row is processed, the first stage of the next row runs in the loops of a later stage
// (Schedule::overlap_stage). So may the last stage of the previous row (Schedule::defer_last_stage). This fills the
// wait at the end of reductions, and overlaps arithmetic with the neighbours' loads and stores. (Stores then alternate
// between the output and row buffers, which stay in L1.)
#ifndef TAILOR_CODEGEN_CPU_LOOPS_PIPELINED_ROWS_H_
#define TAILOR_CODEGEN_CPU_LOOPS_PIPELINED_ROWS_H_

#include <cstdint>

#include "codegen/cpu/loops/stage_loops.h"
#include "codegen/ir/digits.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::cpu {

// The largest pipelined launch, in elements. Most last-level caches hold its operand and its result. Rows that come
// from memory are read faster one by one.
constexpr int64_t kLargestLaunchInFlight = 1 << 20;

// The stage in whose loops the first stage of the next row may run: the first later one with the same axes, among them
// the lane axis. 0: none, or the first stage has results other than reductions and stores.
int StageToOverlap(const KernelPlan& plan, int lane_axis);

// Whether the last stage may run in the loops of stage `overlap_stage` of the next row: it comes later, has the same
// axes and only stores.
bool CanDeferLastStage(const KernelPlan& plan, int overlap_stage);

// Whether the first stage writes row buffers.
bool KeepsAhead(const KernelPlan& plan);

// The number of row buffer sets, through which the pipelined rows rotate.
int RowBufferSets(const KernelPlan& plan, const Schedule& schedule);

// Runs tasks [first, end) pipelined if `allowed` (i1) and there are several; `digits` stands at `first`. `scratch`:
// this worker's, if the plan has any. Returns the first task left to do: `first` or `end`. Then the buffers of the
// current row are at `scratch` again.
llvm::Value* EmitRowsInFlight(llvm::IRBuilderBase& b, const KernelPlan& plan, const Schedule& schedule,
                              llvm::Value* scratch, llvm::Value* first, llvm::Value* end, llvm::Value* allowed,
                              Digits& digits, StageLoops& loops);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_PIPELINED_ROWS_H_
