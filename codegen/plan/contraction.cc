#include "codegen/plan/contraction.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/contract/panels.h"

namespace tailor {
namespace {

bool IsConstant(const Expr& e, int64_t value) {
  return e.kind == ExprKind::kExtent && e.extent.is_constant() && e.extent.constant == value;
}

// An axis of extent 1 is written as the index 0.
bool IsAxis(const KernelPlan& plan, ExprId id, int axis) {
  const Expr& e = plan.exprs[id];
  if (plan.axes[axis].extent == Extent{.constant = 1}) return IsConstant(e, 0);
  return e.kind == ExprKind::kAxis && e.ref == axis;
}

bool IsPlainLoad(const Expr& e) { return e.kind == ExprKind::kLoad && e.predicate < 0; }

bool ReadsPanels(const KernelPlan& plan, const Expr& load, int k, int n) {
  const Buffer& buffer = plan.buffers[load.ref];
  const size_t rank = load.args.size();
  return buffer.layout != ConstantLayout::kRowMajor && rank >= 2 && IsAxis(plan, load.args[rank - 2], k) &&
         IsAxis(plan, load.args[rank - 1], n);
}

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

absl::Status Malformed(const KernelPlan& plan, absl::string_view what) {
  return absl::InternalError(absl::StrCat("contraction ", plan.name, ": ", what));
}

}  // namespace

absl::StatusOr<Contraction> ReadContraction(const KernelPlan& plan) {
  const auto contracts = [](const Axis& axis) { return axis.role == AxisRole::kContract; };
  const auto contract = std::find_if(plan.axes.begin(), plan.axes.end(), contracts);
  const int k = static_cast<int>(contract - plan.axes.begin());
  if (contract == plan.axes.end() || k < 2) return Malformed(plan, "axes are not ..., m, n, k");
  Contraction c{.m = k - 2, .n = k - 1, .k = k};
  for (int axis = 0; axis < static_cast<int>(plan.axes.size()); ++axis) {
    if (axis < c.k && plan.axes[axis].role != AxisRole::kParallel)
      return Malformed(plan, "an outer axis is not parallel");
    if (axis > c.k && plan.axes[axis].role != AxisRole::kTile) return Malformed(plan, "an axis after k fills no box");
    if (axis < c.m) c.batch.push_back(axis);
  }
  const auto one_statement = [&](size_t stage) {
    return stage < plan.stages.size() && plan.stages[stage].statements.size() == 1;
  };
  if (one_statement(0) && plan.stages[0].statements[0].reduce_axes.empty()) {
    c.fill = 0;
    c.stage = 1;
  }
  if (!one_statement(c.stage)) return Malformed(plan, "no stage is one sum");
  const Statement& sum = plan.stages[c.stage].statements[0];
  const Expr& product = plan.exprs[sum.value];
  if (sum.reduce_axes != std::vector<int>{c.k} || sum.combiner != OpKind::kAdd || product.kind != ExprKind::kOp ||
      product.op != OpKind::kMul) {
    return Malformed(plan, "no stage is a sum of products over k");
  }
  c.sums = sum.buffer;
  c.accumulate = sum.accumulate;
  if (SizeOf(c.accumulate) < 4) return Malformed(plan, "sums are not of 32 or 64 bits");
  c.lhs = plan.exprs[product.args[0]];
  c.rhs = plan.exprs[product.args[1]];
  if (!IsPlainLoad(c.lhs) || !IsPlainLoad(c.rhs)) return Malformed(plan, "a factor is not a load");
  if (!ReadsPanels(plan, c.rhs, c.k, c.n)) std::swap(c.lhs, c.rhs);
  if (!ReadsPanels(plan, c.rhs, c.k, c.n)) return Malformed(plan, "no factor is panels read at (k, n)");
  if (c.fill >= 0 && plan.stages[c.fill].statements[0].buffer != c.lhs.ref) {
    return Malformed(plan, "the box is not the left operand");
  }
  return c;
}

std::vector<ExprId> LoadCoefficients(KernelPlan& plan, const Expr& load, int axis) {
  std::vector<ExprId> coefficients;
  for (ExprId index : load.args) {
    coefficients.push_back(CoefficientOf(plan, index, axis));
    if (coefficients.back() < 0) return {};
  }
  return coefficients;
}

bool IsUnitStride(const KernelPlan& plan, const std::vector<ExprId>& coefficients) {
  for (size_t d = 0; d < coefficients.size(); ++d) {
    const bool last = d + 1 == coefficients.size();
    if (!IsConstant(plan.exprs[coefficients[d]], last ? 1 : 0)) return false;
  }
  return !coefficients.empty();
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
    if (plan.buffers[access.ref].layout != ConstantLayout::kRowMajor) continue;
    const bool arithmetic =
        std::all_of(access.args.begin(), access.args.end(), [&](ExprId index) { return IsArithmetic(plan, index); });
    const bool moves = std::any_of(access.args.begin(), access.args.end(),
                                   [&](ExprId index) { return DependsOn(plan, index, across); });
    if (arithmetic && moves && IsUnitStride(plan, LoadCoefficients(plan, access, along))) {
      runs.push_back(access);
    }
  }
  return runs;
}

bool StoresAlongRows(KernelPlan& plan, const Contraction& contraction) {
  for (size_t stage = contraction.stage + 1; stage < plan.stages.size(); ++stage) {
    const std::vector<Statement> statements = plan.stages[stage].statements;  // coefficients are added to the plan
    for (const Statement& statement : statements) {
      const Expr access{.kind = ExprKind::kLoad, .ref = statement.buffer, .args = statement.indices};
      if (!IsUnitStride(plan, LoadCoefficients(plan, access, contraction.m))) return false;
      if (IsUnitStride(plan, LoadCoefficients(plan, access, contraction.n))) return false;
    }
  }
  return true;
}

bool HasWholePanels(const KernelPlan& plan, const Contraction& contraction) {
  const ExtentRange n = RangeOfExtent(plan, plan.axes[contraction.n].extent);
  return (n.fixed ? n.max : n.divisor) % kPanelColumns == 0;
}

ExtentRange RangeOfExtent(const KernelPlan& plan, const Extent& extent) {
  if (extent.is_constant()) return {.max = extent.constant, .divisor = 1, .fixed = true};
  const DimSlot& slot = plan.dims[extent.slot];
  return {.max = slot.max, .divisor = slot.divisor, .fixed = false};
}

}  // namespace tailor
