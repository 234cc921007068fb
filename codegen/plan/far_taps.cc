#include "codegen/plan/far_taps.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "codegen/plan/access_map.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/plan_copier.h"

namespace tailor {
namespace {

// How index `dim` of the lhs moves with K: `taps` * `dilation` is added to `rows`.
struct FarTaps {
  size_t dim = 0;
  ExprId rows = -1, taps = -1;
  int64_t count = 0, dilation = 0;
};

class FarTapsFinder {
 public:
  explicit FarTapsFinder(const KernelPlan& plan) : plan_(plan), c_(ContractionOf(plan)) {}

  std::optional<FarTaps> Find() const {
    for (size_t dim = 0; dim < c_.lhs.args.size(); ++dim) {
      if (const auto taps = TapsOf(dim)) return taps;
    }
    return std::nullopt;
  }

 private:
  std::optional<FarTaps> TapsOf(size_t dim) const {
    const Expr& index = plan_.exprs[c_.lhs.args[dim]];
    const Statement& fill = plan_.stages[c_.fill].statements[0];
    if (index.kind != ExprKind::kIndexAdd || plan_.exprs[fill.indices[dim]].kind != ExprKind::kAxis) return {};
    for (const int first : {0, 1}) {
      const ExprId rows = index.args[first], part = index.args[1 - first];
      const bool apart = !DependsOn(plan_, rows, c_.k) && !DependsOn(plan_, part, c_.m) && DependsOn(plan_, part, c_.k);
      if (!apart || plan_.exprs[part].kind != ExprKind::kIndexMul) continue;
      const std::vector<ExprId>& factors = plan_.exprs[part].args;
      const std::optional<int64_t> dilation = ConstantIndex(plan_, factors[1]), last = LargestOf(factors[0]);
      const std::optional<int64_t> spread = SpreadOf(rows);
      if (!dilation || !last || *last < 1 || !spread || *dilation <= *spread + 1) continue;
      return FarTaps{dim, rows, factors[0], *last + 1, *dilation};
    }
    return std::nullopt;
  }

  // The largest value of a digit of k.
  std::optional<int64_t> LargestOf(ExprId id) const {
    const Expr& e = plan_.exprs[id];
    if (e.kind == ExprKind::kAxis) {
      const DimSize& size = plan_.axes[e.ref].dim_size;
      return size.is_constant() ? std::optional(size.constant - 1) : std::nullopt;
    }
    if (e.kind != ExprKind::kIndexFloorDiv && e.kind != ExprKind::kIndexMod) return std::nullopt;
    const std::optional<int64_t> digits = LargestOf(e.args[0]), divisor = ConstantIndex(plan_, e.args[1]);
    if (!digits || !divisor || *divisor < 1) return std::nullopt;
    return e.kind == ExprKind::kIndexMod ? std::min(*digits, *divisor - 1) : *digits / *divisor;
  }

  // About how far an index moves over the rows of one task. An estimate: it decides what is faster.
  std::optional<int64_t> SpreadOf(ExprId id) const {
    constexpr int64_t kTaskRows = 160, kUnknownSize = 64;
    const Expr& e = plan_.exprs[id];
    if (!DependsOn(plan_, id, c_.m)) return 0;
    if (e.kind == ExprKind::kAxis) return kTaskRows - 1;
    if (e.kind < ExprKind::kIndexAdd || e.kind > ExprKind::kIndexMod) return std::nullopt;
    const std::optional<int64_t> a = SpreadOf(e.args[0]), b = SpreadOf(e.args[1]);
    if (!a || !b) return std::nullopt;
    if (e.kind == ExprKind::kIndexAdd || e.kind == ExprKind::kIndexSub) return *a + *b;
    if (plan_.exprs[e.args[1]].kind != ExprKind::kDimSize) return std::nullopt;
    const int64_t size = std::max<int64_t>(ConstantIndex(plan_, e.args[1]).value_or(kUnknownSize), 1);
    if (e.kind == ExprKind::kIndexMul) return *a * size;
    return e.kind == ExprKind::kIndexMod ? std::min(*a, size - 1) : *a / size + 1;
  }

  const KernelPlan& plan_;
  const Contraction c_;
};

// Adds an axis and a dim of taps; the axis that fills the dim of windows then counts rows alone.
void Split(KernelPlan& plan, const FarTaps& taps) {
  const KernelPlan before = plan;
  const Contraction c = ContractionOf(before);
  const int axis = static_cast<int>(plan.axes.size());
  plan.axes.push_back({{.constant = taps.count}, AxisRole::kTile});
  Buffer& staging = plan.buffers[c.lhs.ref];
  staging.dims.insert(staging.dims.begin() + taps.dim, DimSize{.constant = taps.count});

  Stage& fill = plan.stages[c.fill];
  Statement& store = fill.statements[0];
  const int rows_axis = plan.exprs[store.indices[taps.dim]].ref;
  const ExprId tap = plan.Add({.kind = ExprKind::kAxis, .ref = axis});
  const ExprId dilation = plan.Add({.kind = ExprKind::kDimSize, .dim_size = {.constant = taps.dilation}});
  const ExprId offset = plan.Add({.kind = ExprKind::kIndexMul, .args = {tap, dilation}});
  const auto source_axis = [&](int number) {
    const ExprId same = plan.Add({.kind = ExprKind::kAxis, .ref = number});
    return number == rows_axis ? plan.Add({.kind = ExprKind::kIndexAdd, .args = {same, offset}}) : same;
  };
  std::vector<int> buffers(plan.buffers.size());
  std::iota(buffers.begin(), buffers.end(), 0);
  store.value = PlanCopier(before, plan, source_axis, buffers).Copy(store.value);
  store.indices.insert(store.indices.begin() + taps.dim, tap);
  fill.axes.insert(std::find(fill.axes.begin(), fill.axes.end(), rows_axis), axis);

  Expr lhs = c.lhs;
  lhs.args[taps.dim] = taps.rows;
  lhs.args.insert(lhs.args.begin() + taps.dim, taps.taps);
  Statement& sum = plan.stages[c.stage].statements[0];
  Expr product = plan.exprs[sum.value];
  product.args[0] = plan.Add(lhs);
  sum.value = plan.Add(product);
}

}  // namespace

void StageFarTapsApart(KernelPlan& plan) {
  const auto* form = std::get_if<ContractionForm>(&plan.form);
  if (form == nullptr || form->fill < 0) return;
  if (plan.buffers[ContractionOf(plan).rhs.ref].layout == ConstantLayout::kWinogradPanels16) return;
  while (const auto taps = FarTapsFinder(plan).Find()) Split(plan, *taps);
}

}  // namespace tailor
