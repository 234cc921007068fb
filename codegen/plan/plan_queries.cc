#include "codegen/plan/plan_queries.h"

#include <algorithm>
#include <set>

#include "codegen/plan/contraction.h"

namespace tailor {
namespace {

bool IsMemory(const KernelPlan& plan, int buffer) { return plan.buffers[buffer].kind != BufferKind::kLocal; }

}  // namespace

std::vector<ExprId> ReachableExprs(const KernelPlan& plan) {
  std::set<ExprId> seen;
  std::vector<ExprId> stack;
  for (const Stage& stage : plan.stages) {
    for (const Statement& s : stage.statements) {
      stack.push_back(s.value);
      stack.insert(stack.end(), s.indices.begin(), s.indices.end());
    }
  }
  while (!stack.empty()) {
    ExprId id = stack.back();
    stack.pop_back();
    if (!seen.insert(id).second) continue;
    const Expr& e = plan.exprs[id];
    stack.insert(stack.end(), e.args.begin(), e.args.end());
    if (e.predicate >= 0) stack.push_back(e.predicate);
  }
  return {seen.begin(), seen.end()};
}

std::vector<ExprId> LoadsOf(const KernelPlan& plan, ExprId id) {
  std::set<ExprId> seen;
  std::vector<ExprId> waiting = {id}, loads;
  while (!waiting.empty()) {
    const ExprId next = waiting.back();
    waiting.pop_back();
    if (!seen.insert(next).second) continue;
    const Expr& e = plan.exprs[next];
    if (e.kind == ExprKind::kLoad && IsMemory(plan, e.ref)) {
      loads.push_back(next);
    } else if (e.kind == ExprKind::kOp) {
      waiting.insert(waiting.end(), e.args.begin(), e.args.end());
    }
  }
  return loads;
}

std::vector<int> AxesOf(const KernelPlan& plan, AxisRole role) {
  std::vector<int> axes;
  for (int i = 0; i < static_cast<int>(plan.axes.size()); ++i) {
    if (plan.axes[i].role == role) axes.push_back(i);
  }
  return axes;
}

std::vector<Access> AccessesOf(const KernelPlan& plan) {
  std::vector<Access> all;
  for (ExprId id : ReachableExprs(plan)) {
    const Expr& e = plan.exprs[id];
    if (e.kind == ExprKind::kLoad && IsMemory(plan, e.ref)) all.push_back({e.ref, e.args});
  }
  for (const Stage& stage : plan.stages) {
    for (const Statement& s : stage.statements) {
      if (IsMemory(plan, s.buffer)) all.push_back({s.buffer, s.indices});
    }
  }
  return all;
}

bool IsKept(const KernelPlan& plan, int buffer) {
  if (plan.buffers[buffer].kind == BufferKind::kRow) return true;
  if (plan.buffers[buffer].kind != BufferKind::kOutput) return false;
  const std::vector<ExprId> ids = ReachableExprs(plan);
  return std::any_of(ids.begin(), ids.end(),
                     [&](ExprId id) { return plan.exprs[id].kind == ExprKind::kLoad && plan.exprs[id].ref == buffer; });
}

bool ExchangedIsThreadPrivate(const KernelPlan& plan) {
  for (const Stage& stage : plan.stages) {
    for (const Statement& s : stage.statements) {
      if (!IsKept(plan, s.buffer)) continue;
      for (const Access& access : AccessesOf(plan)) {
        if (access.buffer == s.buffer && access.indices != s.indices) return false;
      }
    }
  }
  return true;
}

bool IsScanOnly(const KernelPlan& plan) {
  return plan.stages.size() == 1 && IsScan(plan, plan.stages[0].statements.front());
}

bool HasScratch(const KernelPlan& plan) {
  if (plan.IsContraction() && ContractionOf(plan).in_place) return true;
  return std::any_of(plan.buffers.begin(), plan.buffers.end(), [](const Buffer& b) {
    return b.kind == BufferKind::kRow || b.kind == BufferKind::kBlock || b.kind == BufferKind::kStaging;
  });
}

SlotExpr BlockBytes(const Buffer& block, int64_t rows) {
  SlotExpr bytes = rows * SizeOf(block.dtype);
  for (const DimSize& dim_size : block.dims) bytes = bytes * OverSlots(dim_size);
  return SlotExpr::CeilDiv(bytes, 64) * 64;
}

bool CanInterleaveRows(const KernelPlan& plan) {
  const auto at_row_axes = [&](int buffer, const std::vector<ExprId>& indices) {
    return plan.buffers[buffer].kind != BufferKind::kRow || std::all_of(indices.begin(), indices.end(), [&](ExprId id) {
             const Expr& e = plan.exprs[id];
             return e.kind == ExprKind::kDimSize ||
                    (e.kind == ExprKind::kAxis && plan.axes[e.ref].role == AxisRole::kTile);
           });
  };
  for (const Stage& stage : plan.stages) {
    for (const Statement& s : stage.statements) {
      if (!at_row_axes(s.buffer, s.indices)) return false;
    }
  }
  for (ExprId id : ReachableExprs(plan)) {
    const Expr& e = plan.exprs[id];
    if (e.kind != ExprKind::kLoad) continue;
    if (!at_row_axes(e.ref, e.args)) return false;
    if (plan.buffers[e.ref].kind == BufferKind::kRow && e.predicate >= 0) return false;
  }
  return true;
}

SlotExpr RowBytes(const KernelPlan& plan, int64_t rows) {
  SlotExpr total = 0;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.kind == BufferKind::kRow) total = total + BlockBytes(buffer, rows);
  }
  return total;
}

SlotExpr OverSlots(const DimSize& dim_size) {
  return dim_size.is_constant() ? SlotExpr(dim_size.constant) : SlotExpr::Slot(dim_size.slot);
}

int64_t MaxOf(const KernelPlan& plan, const DimSize& dim_size) {
  return dim_size.is_constant() ? dim_size.constant : plan.dims[dim_size.slot].max;
}

}  // namespace tailor
