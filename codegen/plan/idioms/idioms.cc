#include "codegen/plan/idioms/idioms.h"

#include <array>
#include <bit>
#include <cmath>

namespace tailor {
namespace {

bool IsOp(const Expr& e, OpKind op) { return e.kind == ExprKind::kOp && e.op == op; }

// Whether `e` is an f32 literal within one unit in the last place of `value`.
bool IsAbout(const Expr& e, float value) {
  if (e.kind != ExprKind::kLiteral || e.dtype != DType::kF32) return false;
  const float literal = std::bit_cast<float>(static_cast<uint32_t>(e.bits));
  return std::nextafter(value, 0.0f) <= literal && literal <= std::nextafter(value, 4.0f);
}

// The other operand of a commutative op, one of whose operands satisfies `is_one`.
template <typename F>
std::optional<ExprId> OtherThan(const KernelPlan& plan, const Expr& e, F is_one) {
  for (const size_t i : {0, 1}) {
    if (is_one(plan.exprs[e.args[i]])) return e.args[1 - i];
  }
  return std::nullopt;
}

// z if `e` is 1 + op(z).
std::optional<ExprId> OperandBesideOne(const KernelPlan& plan, const Expr& e, OpKind op) {
  if (!IsOp(e, OpKind::kAdd)) return std::nullopt;
  const auto other = OtherThan(plan, e, [](const Expr& one) { return IsAbout(one, 1.0f); });
  if (!other || !IsOp(plan.exprs[*other], op)) return std::nullopt;
  return plan.exprs[*other].args[0];
}

// v and z of a product v / 2 (1 + op(z)).
struct Gate {
  ExprId value = -1;
  ExprId argument = -1;
};

std::optional<Gate> GateOf(const KernelPlan& plan, const Expr& product, OpKind op) {
  if (!IsOp(product, OpKind::kMul) || product.dtype != DType::kF32) return std::nullopt;
  const auto is_half = [](const Expr& e) { return IsAbout(e, 0.5f); };
  for (const size_t i : {0, 1}) {
    const Expr& one = plan.exprs[product.args[i]];
    const ExprId other = product.args[1 - i];
    if (is_half(one) && IsOp(plan.exprs[other], OpKind::kMul)) {  // (w v) / 2
      const std::vector<ExprId>& factors = plan.exprs[other].args;
      for (const size_t j : {0, 1}) {
        if (const auto z = OperandBesideOne(plan, plan.exprs[factors[j]], op)) return Gate{factors[1 - j], *z};
      }
    }
    if (const auto z = OperandBesideOne(plan, one, op); z && IsOp(plan.exprs[other], OpKind::kMul)) {  // w (v / 2)
      if (const auto v = OtherThan(plan, plan.exprs[other], is_half)) return Gate{*v, *z};
    }
    if (!IsOp(one, OpKind::kMul)) continue;
    if (const auto weight = OtherThan(plan, one, is_half)) {  // (w / 2) v
      if (const auto z = OperandBesideOne(plan, plan.exprs[*weight], op)) return Gate{other, *z};
    }
  }
  return std::nullopt;
}

// Whether `e` is x / sqrt(2).
bool IsOverRootOfTwo(const KernelPlan& plan, const Expr& e, ExprId x) {
  if (IsOp(e, OpKind::kMul)) {
    return OtherThan(plan, e, [](const Expr& factor) { return IsAbout(factor, 0.70710678f); }) == x;
  }
  return IsOp(e, OpKind::kDiv) && e.args[0] == x && IsAbout(plan.exprs[e.args[1]], 1.41421356f);
}

// A polynomial of one variable, lowest power first.
using Cubic = std::array<double, 4>;

// `id` as a polynomial of `x`, if written with sums, products and powers nested at most `depth` deep; nullopt for
// degrees above 3.
std::optional<Cubic> CubicOf(const KernelPlan& plan, ExprId id, ExprId x, int depth) {
  const Expr& e = plan.exprs[id];
  if (id == x) return Cubic{0, 1};
  if (e.kind == ExprKind::kLiteral && e.dtype == DType::kF32) {
    return Cubic{std::bit_cast<float>(static_cast<uint32_t>(e.bits))};
  }
  if (IsOp(e, OpKind::kPow) && e.args[0] == x) {
    if (IsAbout(plan.exprs[e.args[1]], 3.0f)) return Cubic{0, 0, 0, 1};
    return std::nullopt;
  }
  if (depth == 0 || (!IsOp(e, OpKind::kAdd) && !IsOp(e, OpKind::kMul))) return std::nullopt;
  const auto lhs = CubicOf(plan, e.args[0], x, depth - 1), rhs = CubicOf(plan, e.args[1], x, depth - 1);
  if (!lhs || !rhs) return std::nullopt;
  Cubic result{};
  for (size_t i = 0; i < result.size(); ++i) {
    if (e.op == OpKind::kAdd) result[i] = (*lhs)[i] + (*rhs)[i];
    for (size_t j = 0; e.op == OpKind::kMul && j < result.size(); ++j) {
      const double product = (*lhs)[i] * (*rhs)[j];
      if (product != 0 && i + j >= result.size()) return std::nullopt;
      if (product != 0) result[i + j] += product;
    }
  }
  return result;
}

// Whether `id` is sqrt(2 / pi) (x + 0.044715 x^3) up to the rounding of its literals.
bool IsCubicOfGelu(const KernelPlan& plan, ExprId id, ExprId x) {
  constexpr double kLinear = 0.79788456080286536, kCubic = 0.044715 * kLinear, kClose = 0x1p-22;
  constexpr int kDeep = 6;
  const auto cubic = CubicOf(plan, id, x, kDeep);
  if (!cubic || (*cubic)[0] != 0 || (*cubic)[2] != 0) return false;
  return std::fabs((*cubic)[1] - kLinear) <= kClose * kLinear && std::fabs((*cubic)[3] - kCubic) <= kClose * kCubic;
}

// Whether `e` is a rounded f32, or the sum of one and an integer.
bool IsRounded(const KernelPlan& plan, const Expr& e) {
  if (e.dtype != DType::kF32) return false;
  if (IsOp(e, OpKind::kRound)) return true;
  if (!IsOp(e, OpKind::kAdd)) return false;
  const auto other = OtherThan(plan, e, [](const Expr& literal) {
    if (literal.kind == ExprKind::kParameter) return true;
    if (literal.kind != ExprKind::kLiteral) return false;
    const float number = std::bit_cast<float>(static_cast<uint32_t>(literal.bits));
    return std::trunc(number) == number;
  });
  return other && IsOp(plan.exprs[*other], OpKind::kRound);
}

bool IsZeroPoint(const Expr& e) {
  if (e.kind == ExprKind::kParameter) return true;
  const auto number = std::bit_cast<int32_t>(static_cast<uint32_t>(e.bits));
  return e.kind == ExprKind::kLiteral && std::abs(int64_t{number}) <= kLargestZeroPoint;
}

// The statement that reduces with `combiner` into the local buffer that `load` reads; null if there is none.
const Statement* ReductionBehind(const KernelPlan& plan, const Expr& load, OpKind combiner) {
  if (load.kind != ExprKind::kLoad || plan.buffers[load.ref].kind != BufferKind::kLocal) return nullptr;
  for (const Stage& stage : plan.stages) {
    for (const Statement& s : stage.statements) {
      if (s.buffer == load.ref && !s.reduce_axes.empty() && s.combiner == combiner && !IsScan(plan, s)) return &s;
    }
  }
  return nullptr;
}

// The value stored to the row buffer that `id` loads, if stored at the same index; otherwise `id`.
ExprId StoredFor(const KernelPlan& plan, ExprId id) {
  const Expr& load = plan.exprs[id];
  if (load.kind != ExprKind::kLoad || plan.buffers[load.ref].kind != BufferKind::kRow) return id;
  for (const Stage& stage : plan.stages) {
    for (const Statement& s : stage.statements) {
      if (s.buffer == load.ref && s.indices == load.args) return s.value;
    }
  }
  return id;
}

// The statement that computes m if `power` is exp(x - m) with m = max(x); else null.
const Statement* MaxStatementOf(const KernelPlan& plan, const Expr& power) {
  if (!IsOp(power, OpKind::kExp)) return nullptr;
  const Expr& shifted = plan.exprs[power.args[0]];
  if (!IsOp(shifted, OpKind::kSub)) return nullptr;
  const Statement* greatest = ReductionBehind(plan, plan.exprs[shifted.args[1]], OpKind::kMax);
  const bool of_these = greatest != nullptr && StoredFor(plan, greatest->value) == StoredFor(plan, shifted.args[0]);
  return of_these ? greatest : nullptr;
}

}  // namespace

std::optional<Gelu> GeluOf(const KernelPlan& plan, const Expr& product) {
  if (const auto gate = GateOf(plan, product, OpKind::kErf)) {
    if (IsOverRootOfTwo(plan, plan.exprs[gate->argument], gate->value)) return Gelu{gate->value, OpKind::kErf};
  }
  if (const auto gate = GateOf(plan, product, OpKind::kTanh)) {
    if (IsCubicOfGelu(plan, gate->argument, gate->value)) return Gelu{gate->value, OpKind::kTanh};
  }
  return std::nullopt;
}

std::optional<Requantized> RequantizedOf(const KernelPlan& plan, const Expr& cast) {
  if (!IsOp(cast, OpKind::kCast) || cast.dtype != DType::kF32) return std::nullopt;
  Requantized found;
  const Expr* number = &plan.exprs[cast.args[0]];
  if (IsOp(*number, OpKind::kSub)) {
    const Expr& zero = plan.exprs[number->args[1]];
    if (number->dtype != DType::kI32 || !IsZeroPoint(zero)) return std::nullopt;
    found.zero = number->args[1];
    number = &plan.exprs[number->args[0]];
  }
  if (IsOp(*number, OpKind::kCast) && number->dtype == DType::kI32) number = &plan.exprs[number->args[0]];
  if (!IsOp(*number, OpKind::kCast) || !IsInteger(number->dtype) || SizeOf(number->dtype) > 2) return std::nullopt;
  found.type = number->dtype;
  found.value = number->args[0];
  return IsRounded(plan, plan.exprs[found.value]) ? std::optional(found) : std::nullopt;
}

bool IsExpMinusMax(const KernelPlan& plan, const Expr& power) { return MaxStatementOf(plan, power) != nullptr; }

bool IsSoftmaxNormalize(const KernelPlan& plan, const Expr& quotient) {
  if (!IsOp(quotient, OpKind::kDiv) || (quotient.dtype != DType::kF32 && quotient.dtype != DType::kF64)) return false;
  const Statement* sum = ReductionBehind(plan, plan.exprs[quotient.args[1]], OpKind::kAdd);
  const ExprId power = StoredFor(plan, quotient.args[0]);
  if (sum == nullptr || StoredFor(plan, sum->value) != power) return false;
  const Statement* greatest = MaxStatementOf(plan, plan.exprs[power]);
  return greatest != nullptr && greatest->reduce_axes == sum->reduce_axes;
}

}  // namespace tailor
