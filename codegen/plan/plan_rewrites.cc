#include "codegen/plan/plan_rewrites.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "codegen/plan/plan_copier.h"
#include "codegen/plan/access_map.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/plan_queries.h"

namespace tailor {
namespace {

bool IsIndexArithmetic(ExprKind kind) {
  return kind == ExprKind::kAxis || (kind >= ExprKind::kIndexAdd && kind <= ExprKind::kBcastIndex);
}

DimExpr ValueOf(const KernelPlan& plan, const DimSize& dim_size) {
  return dim_size.is_constant() ? DimExpr(dim_size.constant) : plan.dims[dim_size.slot].value;
}

// Whether every access has a stride along `outer` of dim_size(inner) times its stride along `inner`.
class MergeCheck {
 public:
  MergeCheck(KernelPlan& plan, const ShapeFacts& facts, int outer)
      : plan_(plan), facts_(facts), outer_(outer), inner_(outer + 1) {}

  bool Holds() {
    for (ExprId id : ReachableExprs(plan_)) {
      const Expr e = plan_.exprs[id];
      if (e.kind == ExprKind::kLoad) {
        if (e.predicate >= 0 && Depends(e.predicate)) return false;
        if (!Walks(e.ref, e.args)) return false;
      } else if (!IsIndexArithmetic(e.kind)) {
        for (ExprId arg : e.args) {
          if (IsIndexArithmetic(plan_.exprs[arg].kind) && Depends(arg)) return false;
        }
      }
    }
    for (const Stage& stage : plan_.stages) {
      for (const Statement& s : stage.statements) {
        if (IsIndexArithmetic(plan_.exprs[s.value].kind) && Depends(s.value)) return false;
        if (!Walks(s.buffer, s.indices)) return false;
      }
    }
    return true;
  }

 private:
  bool Depends(ExprId id) const { return DependsOn(plan_, id, outer_) || DependsOn(plan_, id, inner_); }

  bool Walks(int buffer_id, const std::vector<ExprId>& indices) {
    const Buffer buffer = plan_.buffers[buffer_id];  // a copy: `plan_` grows below
    // A staging buffer holds only part of the tensor that its dims describe.
    if (buffer.layout != ConstantLayout::kRowMajor || buffer.kind == BufferKind::kStaging) {
      return std::none_of(indices.begin(), indices.end(), [&](ExprId id) { return Depends(id); });
    }
    const auto stride = [&](int axis) {  // the loads inside a gathered index are accesses of their own
      return AccessMap::Along(plan_, {buffer_id, indices}, axis, {.gathers_fixed = true, .beyond_axis = true})
          .Stride(plan_);
    };
    const std::optional<DimExpr> outer = stride(outer_), inner = stride(inner_);
    if (!outer || !inner) return false;
    return facts_.ProvablyEqual(*outer, *inner * ValueOf(plan_, plan_.axes[inner_].dim_size));
  }

  KernelPlan& plan_;
  const ShapeFacts& facts_;
  int outer_, inner_;
};

// Renumbers axes after `outer` and `outer + 1` were merged.
void RenumberMerged(std::vector<int>& axes, int outer) {
  std::vector<int> result;
  for (int axis : axes) {
    const int renumbered = axis > outer ? axis - 1 : axis;
    if (result.empty() || result.back() != renumbered) result.push_back(renumbered);
  }
  axes = std::move(result);
}

KernelForm MergedForm(KernelForm form, int outer) {
  if (auto* contraction = std::get_if<ContractionForm>(&form)) {
    for (int* axis : {&contraction->m, &contraction->n, &contraction->k}) *axis -= *axis > outer;
  }
  return form;
}

// How indices read a merged axis: as the inner of the two axes, where the accesses allow it, or by its quotient and
// remainder.
enum class MergedIndex : uint8_t { kInner, kDigits };

// The product of two dim sizes. Its divisor is at most 16, the lanes of a vector, which is what schedules ask for:
// kernels that differ in their facts are not shared.
DimSlot ProductOf(const KernelPlan& plan, const DimSize& a, const DimSize& b) {
  constexpr int64_t kMostLanes = 16;
  const auto divisor_of = [&](const DimSize& dim_size) {
    return std::gcd(dim_size.is_constant() ? dim_size.constant : plan.dims[dim_size.slot].divisor, kMostLanes);
  };
  const int64_t divisor = std::gcd(divisor_of(a) * divisor_of(b), kMostLanes);
  return {.value = ValueOf(plan, a) * ValueOf(plan, b), .divisor = divisor};
}

KernelPlan Merge(const KernelPlan& from, int outer, MergedIndex index = MergedIndex::kInner) {
  KernelPlan to;
  to.name = from.name;
  to.form = MergedForm(from.form, outer);
  to.fault_count = from.fault_count;
  for (int i = 0; i < static_cast<int>(from.axes.size()); ++i) {
    const DimSize& dim_size = from.axes[i].dim_size;
    DimSlot slot = dim_size.is_constant() ? DimSlot{.value = dim_size.constant} : from.dims[dim_size.slot];
    if (i == outer) slot = ProductOf(from, dim_size, from.axes[++i].dim_size);
    to.axes.push_back({to.AddDim(slot), from.axes[i].role});
  }
  auto axis = [&](int old) {
    const ExprId merged = to.Add({.kind = ExprKind::kAxis, .ref = old > outer ? old - 1 : old});
    if (old != outer && old != outer + 1) return merged;
    if (index == MergedIndex::kInner) {
      return old == outer ? to.Add({.kind = ExprKind::kDimSize, .dim_size = {.constant = 0}}) : merged;
    }
    const DimSize& inner = from.axes[outer + 1].dim_size;
    const DimSlot slot = inner.is_constant() ? DimSlot{.value = inner.constant} : from.dims[inner.slot];
    const ExprId size = to.Add({.kind = ExprKind::kDimSize, .dim_size = to.AddDim(slot)});
    return to.Add({.kind = old == outer ? ExprKind::kIndexFloorDiv : ExprKind::kIndexMod, .args = {merged, size}});
  };
  std::vector<int> buffers(from.buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) buffers[i] = static_cast<int>(i);
  PlanCopier copier(from, to, axis, buffers);
  for (const Buffer& buffer : from.buffers) to.buffers.push_back(copier.Copy(buffer));
  for (Stage stage : from.stages) {
    RenumberMerged(stage.axes, outer);
    for (Statement& s : stage.statements) {
      RenumberMerged(s.reduce_axes, outer);
      s = copier.Copy(s);
    }
    to.stages.push_back(std::move(stage));
  }
  return to;
}

// Whether axes `outer` and `outer + 1` of a contraction must not be merged: n, later axes, and with `keep_m` m.
bool Stays(const ContractionForm& form, int outer, bool keep_m) {
  return outer >= form.n || outer + 1 == form.n || (keep_m && outer + 1 == form.m);
}

}  // namespace

void CollapseAxes(KernelPlan& plan, const ShapeFacts& facts, bool keep_m) {
  for (int outer = 0; outer + 1 < static_cast<int>(plan.axes.size());) {
    const AxisRole role = plan.axes[outer].role;
    const auto* contraction = std::get_if<ContractionForm>(&plan.form);
    const bool stays = contraction != nullptr && Stays(*contraction, outer, keep_m);
    const bool mergeable = role == plan.axes[outer + 1].role && role != AxisRole::kContract && !stays;
    if (mergeable && MergeCheck(plan, facts, outer).Holds()) {
      plan = Merge(plan, outer);
      outer = std::max(0, outer - 1);
    } else {
      ++outer;
    }
  }
}

void MergeRowsOfOneRhs(KernelPlan& plan) {
  const auto* form = std::get_if<ContractionForm>(&plan.form);
  while (form != nullptr && form->fill < 0 && form->m > 0) {
    KernelPlan before = plan;  // maps add expressions
    const Contraction c = ContractionOf(before);
    const int batch = form->m - 1;
    const auto moves = [&](const Expr& load) {
      return std::any_of(load.args.begin(), load.args.end(), [&](ExprId id) { return DependsOn(plan, id, batch); });
    };
    if (moves(c.rhs) || (c.in_place && moves(c.in_place->load)) || StoresAlongRows(before, c)) return;
    KernelPlan merged = Merge(plan, batch, MergedIndex::kDigits);
    for (Stage& stage : merged.stages) {
      for (Statement& s : stage.statements) merged.FoldSplitIndices(merged.buffers[s.buffer], s.indices);
    }
    KernelPlan after = merged;
    const Contraction rows = ContractionOf(after);
    if (!MapOf(after, rows.lhs, rows.m).IsAffine()) return;
    plan = std::move(merged);
    form = std::get_if<ContractionForm>(&plan.form);
  }
}

std::vector<int> Canonicalize(KernelPlan& plan) {
  std::vector<bool> used(plan.buffers.size());
  for (ExprId id : ReachableExprs(plan)) {
    if (plan.exprs[id].kind == ExprKind::kLoad) used[plan.exprs[id].ref] = true;
  }
  for (const Stage& stage : plan.stages) {
    for (const Statement& s : stage.statements) used[s.buffer] = true;
  }
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(plan.buffers.size()); ++i) {
    if (used[i]) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return plan.buffers[a].kind < plan.buffers[b].kind; });
  std::vector<int> renumbered(plan.buffers.size(), -1);
  for (size_t i = 0; i < order.size(); ++i) renumbered[order[i]] = static_cast<int>(i);

  KernelPlan to;
  to.name = plan.name;
  to.form = plan.form;
  to.fault_count = plan.fault_count;
  PlanCopier copier(
      plan, to, [&](int axis) { return to.Add({.kind = ExprKind::kAxis, .ref = axis}); }, renumbered);
  for (const Axis& axis : plan.axes) to.axes.push_back({copier.Copy(axis.dim_size), axis.role});
  for (int old : order) to.buffers.push_back(copier.Copy(plan.buffers[old]));
  for (Stage stage : plan.stages) {
    for (Statement& s : stage.statements) s = copier.Copy(s);
    to.stages.push_back(std::move(stage));
  }
  plan = std::move(to);
  return order;
}

}  // namespace tailor
