// What schedules and back ends ask of a plan.
#ifndef TAILOR_CODEGEN_PLAN_PLAN_QUERIES_H_
#define TAILOR_CODEGEN_PLAN_PLAN_QUERIES_H_

#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/slot_expr.h"

namespace tailor {

// Every expression that some statement needs, ascending (operands before users).
std::vector<ExprId> ReachableExprs(const KernelPlan& plan);

struct Access {
  int buffer;
  std::vector<ExprId> indices;
};

// The plan's axes of that role, outer first.
std::vector<int> AxesOf(const KernelPlan& plan, AxisRole role);

// Each load from memory that some statement needs, and each store.
std::vector<Access> AccessesOf(const KernelPlan& plan);

// Whether `buffer` holds what one stage writes and a later one reads: a row buffer, or an output that is read back.
bool IsKept(const KernelPlan& plan, int buffer);

// Whether every element of such a buffer is read by the statements of that very element alone, so that no thread reads
// what another wrote.
bool KeptArePrivate(const KernelPlan& plan);

// Whether the plan is a scan, and what follows from its result step by step.
bool ScansAlone(const KernelPlan& plan);

// Whether neighbours along `axis` are neighbours in memory. Adds expressions to `plan`.
bool IsContiguous(KernelPlan& plan, const Access& access, int axis);

// Rough cycles that a vector of results of a scalar op takes.
int ScalarCost(OpKind op);

// Whether launches get scratch memory: for row buffers, blocks or a box.
bool HasScratch(const KernelPlan& plan);
// What the row buffers of `rows` rows take, each 64-byte aligned.
SlotExpr RowBytes(const KernelPlan& plan, int64_t rows = 1);

// Whether row buffers may hold several rows, as lanes: they are written and read at axes of the row alone, and always.
bool HoldsLanes(const KernelPlan& plan);

// What a block of `rows` rows takes.
SlotExpr BlockBytes(const Buffer& block, int64_t rows);

// A dim size as an expression over slots.
SlotExpr OverSlots(const DimSize& dim_size);

// The most that a dim size may be.
int64_t MaxOf(const KernelPlan& plan, const DimSize& dim_size);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_PLAN_QUERIES_H_
