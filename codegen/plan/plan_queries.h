// Queries of a KernelPlan, for schedules and backends.
#ifndef TAILOR_CODEGEN_PLAN_PLAN_QUERIES_H_
#define TAILOR_CODEGEN_PLAN_PLAN_QUERIES_H_

#include <vector>

#include "codegen/plan/access_map.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/slot_expr.h"

namespace tailor {

// Every expression that a statement needs, ascending (operands before users).
std::vector<ExprId> ReachableExprs(const KernelPlan& plan);

// The loads that `id` needs but for their indices.
std::vector<ExprId> LoadsOf(const KernelPlan& plan, ExprId id);

// The plan's axes of `role`, outer first.
std::vector<int> AxesOf(const KernelPlan& plan, AxisRole role);

// All loads that a statement needs, and all stores.
std::vector<Access> AccessesOf(const KernelPlan& plan);

// Whether one stage writes `buffer` and a later one reads it: a row buffer, or an output that is read back.
bool IsKept(const KernelPlan& plan, int buffer);

// Whether each element of every kept buffer (IsKept) is read only at the index at which it is written. Then no thread
// reads a value that another thread wrote.
bool ExchangedIsThreadPrivate(const KernelPlan& plan);

// Whether the plan is one stage: a scan and its elementwise followers.
bool IsScanOnly(const KernelPlan& plan);

// Whether launches get scratch memory: for row buffers, blocks, staging buffers or panels of a rhs in place.
bool HasScratch(const KernelPlan& plan);
// Bytes of the row buffers of `rows` rows, each 64-byte aligned.
SlotExpr RowBytes(const KernelPlan& plan, int64_t rows = 1);

// Whether row buffers may hold several rows as lanes: all accesses are at tile axes, without predicates.
bool CanInterleaveRows(const KernelPlan& plan);

// Bytes of a block of `rows` rows.
SlotExpr BlockBytes(const Buffer& block, int64_t rows);

// A dim size as an expression over slots.
SlotExpr OverSlots(const DimSize& dim_size);

// The largest possible value of a dim size.
int64_t MaxOf(const KernelPlan& plan, const DimSize& dim_size);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_PLAN_QUERIES_H_
