#include "codegen/plan/kernel_plan.h"

#include <optional>

#include "absl/strings/str_cat.h"

namespace tailor {
namespace {

Expr IndexConstant(int64_t value) { return Expr{.kind = ExprKind::kDimSize, .dim_size = DimSize{.constant = value}}; }

// An upper bound of an index expression, where dim sizes bound it.
std::optional<int64_t> UpperBound(const KernelPlan& plan, ExprId id) {
  const Expr& e = plan.exprs[id];
  auto both = [&](auto combine) -> std::optional<int64_t> {
    auto a = UpperBound(plan, e.args[0]), b = UpperBound(plan, e.args[1]);
    if (!a || !b || *a > INT32_MAX || *b > INT32_MAX) return std::nullopt;
    return combine(*a, *b);
  };
  switch (e.kind) {
    case ExprKind::kDimSize:
      return ConstantIndex(plan, id);
    case ExprKind::kAxis: {
      const DimSize& dim_size = plan.axes[e.ref].dim_size;
      if (!dim_size.is_constant()) return std::nullopt;
      return dim_size.constant - 1;
    }
    case ExprKind::kIndexAdd:
      return both([](int64_t a, int64_t b) { return a + b; });
    case ExprKind::kIndexMul:
      // Only constants are negative; then the largest value is at 0 of the other factor.
      return both([](int64_t a, int64_t b) { return a < 0 || b < 0 ? 0 : a * b; });
    case ExprKind::kIndexMod: {
      auto b = ConstantIndex(plan, e.args[1]);
      if (b) return *b - 1;
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

// The simplified form of division or modulo `e`; nullopt if there is none.
std::optional<ExprId> FoldDivision(KernelPlan& plan, const Expr& e) {
  auto divisor = ConstantIndex(plan, e.args[1]);
  if (!divisor || *divisor <= 0) return std::nullopt;
  const bool mod = e.kind == ExprKind::kIndexMod;
  if (auto value = ConstantIndex(plan, e.args[0])) {
    return plan.Add(IndexConstant(mod ? *value % *divisor : *value / *divisor));
  }
  if (*divisor == 1) return mod ? plan.Add(IndexConstant(0)) : e.args[0];
  auto bound = UpperBound(plan, e.args[0]);
  if (bound && *bound < *divisor) return mod ? e.args[0] : plan.Add(IndexConstant(0));
  const auto split = SplitIndex(plan, e.args[0]);
  if (!split || split->factor != *divisor) return std::nullopt;
  return mod ? split->rest : split->multiple;
}

// `sum` without its term x / d; nullopt if there is none.
std::optional<ExprId> WithoutQuotient(KernelPlan& plan, ExprId sum, ExprId x, ExprId d) {
  const Expr e = plan.exprs[sum];
  if (e.kind == ExprKind::kIndexFloorDiv && e.args[0] == x && e.args[1] == d) return plan.Add(IndexConstant(0));
  if (e.kind != ExprKind::kIndexAdd) return std::nullopt;
  for (int i : {0, 1}) {
    const auto rest = WithoutQuotient(plan, e.args[i], x, d);
    if (rest) return plan.Add(Expr{.kind = ExprKind::kIndexAdd, .args = {*rest, e.args[1 - i]}});
  }
  return std::nullopt;
}

// (m + x / d) * d + x % d is m * d + x: one reshape splits an index and the next joins it.
std::optional<ExprId> JoinSplit(KernelPlan& plan, ExprId product, ExprId rest) {
  const Expr mul = plan.exprs[product], mod = plan.exprs[rest];
  if (mul.kind != ExprKind::kIndexMul || mod.kind != ExprKind::kIndexMod) return std::nullopt;
  for (int i : {0, 1}) {
    if (mul.args[1 - i] != mod.args[1]) continue;
    const auto others = WithoutQuotient(plan, mul.args[i], mod.args[0], mod.args[1]);
    if (!others) continue;
    const ExprId high = plan.Add(Expr{.kind = ExprKind::kIndexMul, .args = {*others, mod.args[1]}});
    return plan.Add(Expr{.kind = ExprKind::kIndexAdd, .args = {high, mod.args[0]}});
  }
  return std::nullopt;
}

std::optional<ExprId> Fold(KernelPlan& plan, const Expr& e) {
  auto constant = [&](int i) { return ConstantIndex(plan, e.args[i]); };
  switch (e.kind) {
    case ExprKind::kIndexAdd:
      if (constant(0) && constant(1)) return plan.Add(IndexConstant(*constant(0) + *constant(1)));
      if (constant(0) == 0) return e.args[1];
      if (constant(1) == 0) return e.args[0];
      for (int i : {0, 1}) {
        if (const auto joined = JoinSplit(plan, e.args[i], e.args[1 - i])) return joined;
      }
      return std::nullopt;
    case ExprKind::kIndexSub:
      if (constant(0) && constant(1)) return plan.Add(IndexConstant(*constant(0) - *constant(1)));
      if (constant(1) == 0) return e.args[0];
      return std::nullopt;
    case ExprKind::kIndexMul:
      if (constant(0) && constant(1)) return plan.Add(IndexConstant(*constant(0) * *constant(1)));
      if (constant(0) == 1) return e.args[1];
      if (constant(1) == 1) return e.args[0];
      if (constant(0) == 0 || constant(1) == 0) return plan.Add(IndexConstant(0));
      return std::nullopt;
    case ExprKind::kIndexFloorDiv:
    case ExprKind::kIndexMod:
      return FoldDivision(plan, e);
    case ExprKind::kBcastIndex:
      if (e.dim_size.is_constant()) return e.dim_size.constant == 1 ? plan.Add(IndexConstant(0)) : e.args[0];
      if (constant(0) == 0) return e.args[0];
      return std::nullopt;
    case ExprKind::kAxis:
      if (plan.axes[e.ref].dim_size == DimSize{.constant = 1}) return plan.Add(IndexConstant(0));
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

std::string KeyOf(const Expr& e) {
  std::string key =
      absl::StrCat(static_cast<int>(e.kind), ",", static_cast<int>(e.dtype), ",", static_cast<int>(e.op), ",", e.ref,
                   ",", e.dim_size.constant, ",", e.dim_size.slot, ",", e.bits, ",", e.predicate);
  for (ExprId arg : e.args) absl::StrAppend(&key, ";", arg);
  return key;
}

}  // namespace

std::optional<IndexSplit> SplitIndex(const KernelPlan& plan, ExprId sum) {
  const Expr& e = plan.exprs[sum];
  if (e.kind != ExprKind::kIndexAdd) return std::nullopt;
  const Expr& product = plan.exprs[e.args[0]];
  if (product.kind != ExprKind::kIndexMul) return std::nullopt;
  const auto factor = ConstantIndex(plan, product.args[1]), bound = UpperBound(plan, e.args[1]);
  if (!factor || *factor <= 0 || !bound || *bound >= *factor) return std::nullopt;
  return IndexSplit{product.args[0], e.args[1], *factor};
}

void KernelPlan::FoldSplitIndices(const Buffer& buffer, std::vector<ExprId>& indices) {
  if (buffer.layout != ConstantLayout::kRowMajor || buffer.kind == BufferKind::kStaging) return;
  for (size_t d = 0; d + 1 < indices.size(); ++d) {
    size_t next = d + 1;  // skips dims of size 1
    while (next + 1 < indices.size() && buffer.dims[next] == DimSize{.constant = 1}) ++next;
    const Expr& low = exprs[indices[next]];
    if (low.kind != ExprKind::kIndexMod) continue;
    const Expr& divisor = exprs[low.args[1]];
    if (divisor.kind != ExprKind::kDimSize || !(divisor.dim_size == buffer.dims[next])) continue;
    const auto is_quotient = [&](ExprId id) {
      return exprs[id].kind == ExprKind::kIndexFloorDiv && exprs[id].args == low.args;
    };
    const Expr& high = exprs[indices[d]];
    const ExprId whole = low.args[0];
    if (is_quotient(indices[d])) {
      indices[d] = Add(IndexConstant(0));
    } else if (high.kind == ExprKind::kIndexAdd && (is_quotient(high.args[0]) || is_quotient(high.args[1]))) {
      indices[d] = high.args[is_quotient(high.args[0]) ? 1 : 0];
    } else {
      continue;
    }
    indices[next] = whole;
  }
}

ExprId KernelPlan::Add(Expr expr) {
  if (expr.kind == ExprKind::kLoad) FoldSplitIndices(Buffer(buffers[expr.ref]), expr.args);
  if (auto folded = Fold(*this, expr)) return *folded;
  auto [it, added] = interned_.try_emplace(KeyOf(expr), static_cast<ExprId>(exprs.size()));
  if (added) exprs.push_back(std::move(expr));
  return it->second;
}

DimSize KernelPlan::AddDim(const DimSlot& slot) {
  if (auto constant = slot.value.constant()) return DimSize{.constant = *constant};
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].value == slot.value) return DimSize{.slot = static_cast<int32_t>(i)};
  }
  dims.push_back(slot);
  return DimSize{.slot = static_cast<int32_t>(dims.size()) - 1};
}

void KernelPlan::ReplaceConstant(ExprId id, int32_t slot) {
  Expr& e = exprs[id];
  interned_.erase(KeyOf(e));
  e.dim_size = {.slot = slot};
  if (e.kind == ExprKind::kLiteral) {
    e.kind = ExprKind::kParameter;
    e.bits = 0;
  }
  interned_.emplace(KeyOf(e), id);
}

std::optional<int64_t> ConstantIndex(const KernelPlan& plan, ExprId id) {
  const Expr& e = plan.exprs[id];
  if (e.kind == ExprKind::kDimSize && e.dim_size.is_constant()) return e.dim_size.constant;
  return std::nullopt;
}

DType ImpliedType(const KernelPlan& plan, const Expr& op) {
  const auto operand = [&](size_t i) { return i < op.args.size() ? plan.exprs[op.args[i]].dtype : DType::kInvalid; };
  switch (InfoOf(op.op).dtype) {
    case DTypeRule::kAttribute:
    case DTypeRule::kBitcast:
      return DType::kInvalid;
    case DTypeRule::kCompare:
      return DType::kBool;
    case DTypeRule::kSelect:
      return operand(1);
    default:
      return operand(0);
  }
}

bool IsScan(const KernelPlan& plan, const Statement& statement) {
  return !statement.reduce_axes.empty() && plan.axes[statement.reduce_axes.front()].role == AxisRole::kOrdered;
}

bool DependsOn(const KernelPlan& plan, ExprId value, int axis) {
  std::vector<bool> seen(value + 1);  // operands precede their users
  std::vector<ExprId> stack = {value};
  while (!stack.empty()) {
    ExprId id = stack.back();
    stack.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    const Expr& e = plan.exprs[id];
    if (e.kind == ExprKind::kAxis && e.ref == axis) return true;
    stack.insert(stack.end(), e.args.begin(), e.args.end());
    if (e.predicate >= 0) stack.push_back(e.predicate);
  }
  return false;
}

}  // namespace tailor
