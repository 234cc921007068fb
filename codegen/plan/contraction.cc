#include "codegen/plan/contraction.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/contract/panels.h"

namespace tailor {
namespace {

bool IsPlainLoad(const Expr& e) { return e.kind == ExprKind::kLoad && e.predicate < 0; }

// Every load in `value`, itself included.
void CollectLoads(const KernelPlan& plan, ExprId value, std::set<ExprId>& seen, std::vector<Expr>& loads) {
  if (!seen.insert(value).second) return;
  const Expr& e = plan.exprs[value];
  if (IsPlainLoad(e)) loads.push_back(e);
  for (ExprId arg : e.args) CollectLoads(plan, arg, seen, loads);
}

bool IsArithmetic(const KernelPlan& plan, ExprId index) {
  const Expr& e = plan.exprs[index];
  if (e.kind == ExprKind::kLoad || e.kind == ExprKind::kGatherIndex || e.kind == ExprKind::kOp) return false;
  return std::all_of(e.args.begin(), e.args.end(), [&](ExprId arg) { return IsArithmetic(plan, arg); });
}

}  // namespace

Contraction ContractionOf(const KernelPlan& plan) {
  const auto& form = std::get<ContractionForm>(plan.form);
  const Statement& sum = plan.stages[form.sum].statements[0];
  const std::vector<ExprId>& factors = plan.exprs[sum.value].args;
  Contraction c{.m = form.m,
                .n = form.n,
                .k = form.k,
                .fill = form.fill,
                .stage = static_cast<size_t>(form.sum),
                .dilation = form.dilation,
                .channels_last = form.channels_last};
  for (int axis = 0; axis < form.m; ++axis) c.batch.push_back(axis);
  c.lhs = plan.exprs[factors[0]];
  c.rhs = plan.exprs[factors[1]];
  if (c.rhs.kind == ExprKind::kOp) {
    const std::vector<ExprId> choice = c.rhs.args;
    c.in_place = InPlaceRhs{choice[0], plan.exprs[choice[1]]};
    c.rhs = plan.exprs[choice[2]];
  }
  c.sums = sum.buffer;
  c.accumulate = sum.accumulate;
  return c;
}

AccessMap MapOf(KernelPlan& plan, const Expr& load, int axis) {
  return AccessMap::Along(plan, {load.ref, load.args}, axis);
}

MatrixRows MatrixRowsOf(KernelPlan plan, const Expr& load, int n, int k) {
  const AccessMap along_n = MapOf(plan, load, n), along_k = MapOf(plan, load, k);
  for (const AccessMap& map : {along_n, along_k}) {
    if (!map.IsAffine() || map.kind() == AccessMap::Kind::kUniform) return MatrixRows::kNone;
  }
  if (along_n.IsUnitInLastDim() == along_k.IsUnitInLastDim()) return MatrixRows::kNone;
  return along_n.IsUnitInLastDim() ? MatrixRows::kAlongN : MatrixRows::kAlongK;
}

std::vector<Expr> EpilogueRuns(KernelPlan& plan, const Contraction& contraction, int along) {
  const int across = along == contraction.m ? contraction.n : contraction.m;
  std::vector<Expr> accesses;
  std::set<ExprId> seen;
  for (size_t stage = contraction.stage + 1; stage < plan.stages.size(); ++stage) {
    for (const Statement& statement : plan.stages[stage].statements) {
      accesses.push_back(Expr{.kind = ExprKind::kLoad, .ref = statement.buffer, .args = statement.indices});
      CollectLoads(plan, statement.value, seen, accesses);
    }
  }
  std::vector<Expr> runs;
  for (const Expr& access : accesses) {
    const bool arithmetic =
        std::all_of(access.args.begin(), access.args.end(), [&](ExprId index) { return IsArithmetic(plan, index); });
    const bool moves = std::any_of(access.args.begin(), access.args.end(),
                                   [&](ExprId index) { return DependsOn(plan, index, across); });
    if (arithmetic && moves && MapOf(plan, access, along).IsUnitInLastDim()) runs.push_back(access);
  }
  return runs;
}

bool StoresAlongRows(KernelPlan& plan, const Contraction& contraction) {
  for (size_t stage = contraction.stage + 1; stage < plan.stages.size(); ++stage) {
    const std::vector<Statement> statements = plan.stages[stage].statements;  // a copy: `plan` grows below
    for (const Statement& statement : statements) {
      const Expr access{.kind = ExprKind::kLoad, .ref = statement.buffer, .args = statement.indices};
      if (!MapOf(plan, access, contraction.m).IsUnitInLastDim()) return false;
      if (MapOf(plan, access, contraction.n).IsUnitInLastDim()) return false;
    }
  }
  return true;
}

bool HasWholePanels(const KernelPlan& plan, const Contraction& contraction) {
  const DimSizeRange n = RangeOfDimSize(plan, plan.axes[contraction.n].dim_size);
  return (n.fixed ? n.max : n.divisor) % kPanelColumns == 0;
}

DimSizeRange RangeOfDimSize(const KernelPlan& plan, const DimSize& dim_size) {
  if (dim_size.is_constant()) return {.max = dim_size.constant, .divisor = 1, .fixed = true};
  const DimSlot& slot = plan.dims[dim_size.slot];
  return {.max = slot.max, .divisor = slot.divisor, .fixed = false};
}

}  // namespace tailor
