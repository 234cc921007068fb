#include "codegen/plan/access_map.h"

#include <algorithm>
#include <utility>

namespace tailor {
namespace {

using Moves = std::function<bool(ExprId)>;

// Derivatives that are constants. Leaves the plan as it is.
class Constants {
 public:
  using Value = int64_t;
  explicit Constants(const KernelPlan& plan) : plan_(plan) {}

  std::optional<Value> Constant(int64_t n) const { return n; }
  std::optional<Value> Combine(ExprKind kind, Value a, Value b) const {
    return kind == ExprKind::kIndexAdd ? a + b : a - b;
  }
  std::optional<Value> Scale(Value a, ExprId factor) const {
    const std::optional<int64_t> by = ConstantIndex(plan_, factor);
    return by ? std::optional(a * *by) : std::nullopt;
  }
  std::optional<Value> Broadcast(Value, const DimSize&) const { return std::nullopt; }

 private:
  const KernelPlan& plan_;
};

// Derivatives as expressions of the plan, to which they are added.
class Expressions {
 public:
  using Value = ExprId;
  explicit Expressions(KernelPlan& plan) : plan_(plan) {}

  std::optional<Value> Constant(int64_t n) const {
    return plan_.Add(Expr{.kind = ExprKind::kDimSize, .dim_size = DimSize{.constant = n}});
  }
  std::optional<Value> Combine(ExprKind kind, Value a, Value b) const {
    return plan_.Add(Expr{.kind = kind, .args = {a, b}});
  }
  std::optional<Value> Scale(Value a, ExprId factor) const {
    return plan_.Add(Expr{.kind = ExprKind::kIndexMul, .args = {a, factor}});
  }
  std::optional<Value> Broadcast(Value a, const DimSize& dim_size) const {
    return plan_.Add(Expr{.kind = ExprKind::kBcastIndex, .dim_size = dim_size, .args = {a}});
  }

 private:
  KernelPlan& plan_;
};

// d(index)/d(axis), where `moves` says which expressions depend on the axis; absent if the algebra cannot express it.
template <typename Algebra>
std::optional<typename Algebra::Value> Derivative(const KernelPlan& plan, ExprId index, const Moves& moves,
                                                  IndexAssumptions assumptions, const Algebra& algebra) {
  if (!moves(index)) return algebra.Constant(0);
  const auto derivative = [&](ExprId arg) { return Derivative(plan, arg, moves, assumptions, algebra); };
  const Expr e = plan.exprs[index];  // a copy: the algebra may add expressions
  switch (e.kind) {
    case ExprKind::kAxis:
      return algebra.Constant(1);
    case ExprKind::kIndexAdd:
    case ExprKind::kIndexSub: {
      const auto a = derivative(e.args[0]), b = derivative(e.args[1]);
      if (!a || !b) return std::nullopt;
      return algebra.Combine(e.kind, *a, *b);
    }
    case ExprKind::kIndexMul: {
      const int moving = moves(e.args[0]) ? 0 : 1;
      if (moves(e.args[1 - moving])) return std::nullopt;
      const auto a = derivative(e.args[moving]);
      return a ? algebra.Scale(*a, e.args[1 - moving]) : std::nullopt;
    }
    case ExprKind::kIndexFloorDiv:
    case ExprKind::kIndexMod: {
      // x * c + rest, where x does not move: within a multiple of c, only the rest does. Its bound is that of the axis.
      if (assumptions.beyond_axis) return std::nullopt;
      const auto split = SplitIndex(plan, e.args[0]);
      const std::optional<int64_t> divisor = ConstantIndex(plan, e.args[1]);
      if (!split || !divisor || *divisor <= 0 || *divisor % split->factor != 0 || moves(split->multiple)) {
        return std::nullopt;
      }
      return e.kind == ExprKind::kIndexMod ? derivative(split->rest) : algebra.Constant(0);
    }
    case ExprKind::kBcastIndex: {
      const auto a = derivative(e.args[0]);
      if (!a || assumptions.no_broadcast) return a;
      return algebra.Broadcast(*a, e.dim_size);
    }
    default:
      return std::nullopt;
  }
}

DimExpr ValueOf(const KernelPlan& plan, const DimSize& dim_size) {
  return dim_size.is_constant() ? DimExpr(dim_size.constant) : plan.dims[dim_size.slot].value;
}

// The value of an index expression without axes as a DimExpr; nullopt if it has none.
std::optional<DimExpr> DimOf(const KernelPlan& plan, ExprId id) {
  const Expr& e = plan.exprs[id];
  if (e.kind == ExprKind::kDimSize) return ValueOf(plan, e.dim_size);
  if (e.kind != ExprKind::kIndexAdd && e.kind != ExprKind::kIndexSub && e.kind != ExprKind::kIndexMul) {
    return std::nullopt;
  }
  const auto a = DimOf(plan, e.args[0]), b = DimOf(plan, e.args[1]);
  if (!a || !b) return std::nullopt;
  if (e.kind == ExprKind::kIndexMul) return *a * *b;
  return e.kind == ExprKind::kIndexAdd ? *a + *b : *a - *b;
}

}  // namespace

IndexStep StepAlong(KernelPlan& plan, ExprId index, int axis, IndexAssumptions assumptions) {
  if (assumptions.gathers_fixed && plan.exprs[index].kind == ExprKind::kGatherIndex) {
    return {.kind = IndexStep::Kind::kConstant};
  }
  const Moves moves = [&](ExprId id) { return DependsOn(plan, id, axis); };
  const std::optional<ExprId> expr = Derivative(plan, index, moves, assumptions, Expressions(plan));
  if (!expr) return {};
  if (const auto constant = ConstantIndex(plan, *expr)) {
    return {.kind = IndexStep::Kind::kConstant, .constant = *constant, .expr = *expr};
  }
  return {.kind = IndexStep::Kind::kAffine, .expr = *expr};
}

std::optional<int64_t> ConstantStep(const KernelPlan& plan, ExprId index, const Moves& moves,
                                    IndexAssumptions assumptions) {
  return Derivative(plan, index, moves, assumptions, Constants(plan));
}

AccessMap AccessMap::Along(KernelPlan& plan, const Access& access, int axis, IndexAssumptions assumptions) {
  AccessMap map;
  map.buffer_ = access.buffer;
  map.row_major_ = plan.buffers[access.buffer].layout == ConstantLayout::kRowMajor;
  std::vector<std::optional<int64_t>> constants;
  bool opaque = false;
  for (ExprId index : access.indices) {
    const IndexStep step = StepAlong(plan, index, axis, assumptions);
    opaque = opaque || step.kind == IndexStep::Kind::kOpaque;
    constants.push_back(step.kind == IndexStep::Kind::kConstant ? std::optional(step.constant) : std::nullopt);
    map.steps_.push_back(step);
  }
  if (plan.buffers[access.buffer].kind == BufferKind::kLocal) return map;
  const bool moves = !std::all_of(map.steps_.begin(), map.steps_.end(), [](const IndexStep& s) { return s.Is(0); });
  if (!moves) return map;
  const std::optional<int64_t> stride = ConstantStride(constants, plan.buffers[access.buffer].dims);
  if (opaque || !map.row_major_) {
    map.kind_ = Kind::kOpaque;
  } else if (!stride) {
    map.kind_ = Kind::kAffine;
  } else {
    map.kind_ = *stride == 0 ? Kind::kUniform : *stride == 1 ? Kind::kUnit : Kind::kStrided;
    map.stride_ = *stride;
  }
  return map;
}

bool AccessMap::IsUnitInLastDim() const {
  return row_major_ && !steps_.empty() && steps_.back().Is(1) &&
         std::all_of(steps_.begin(), steps_.end() - 1, [](const IndexStep& step) { return step.Is(0); });
}

std::optional<DimExpr> AccessMap::Stride(const KernelPlan& plan) const {
  DimExpr sum = 0, stride = 1;
  for (size_t d = steps_.size(); d-- > 0;) {
    if (steps_[d].kind == IndexStep::Kind::kOpaque) return std::nullopt;
    const std::optional<DimExpr> step =
        steps_[d].kind == IndexStep::Kind::kConstant ? DimExpr(steps_[d].constant) : DimOf(plan, steps_[d].expr);
    if (!step) return std::nullopt;
    sum = sum + *step * stride;
    stride = stride * ValueOf(plan, plan.buffers[buffer_].dims[d]);
  }
  return sum;
}

std::optional<int64_t> ConstantStride(const std::vector<std::optional<int64_t>>& steps,
                                      const std::vector<DimSize>& dims) {
  int64_t sum = 0;
  std::optional<int64_t> stride = 1;
  for (size_t d = steps.size(); d-- > 0;) {
    if (!steps[d] || (*steps[d] != 0 && !stride)) return std::nullopt;
    if (*steps[d] != 0) sum += *steps[d] * *stride;
    stride = stride && dims[d].is_constant() ? std::optional(*stride * dims[d].constant) : std::nullopt;
  }
  return sum;
}

bool IsContiguous(KernelPlan& plan, const Access& access, int axis) {
  return AccessMap::Along(plan, access, axis).IsUnitInLastDim();
}

}  // namespace tailor
