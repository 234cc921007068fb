#include "codegen/plan/idioms/masked_keys.h"

#include <limits>
#include <map>
#include <set>
#include <utility>

#include "graph/element.h"

namespace tailor {
namespace {

class Finder {
 public:
  Finder(KernelPlan& plan, const Attention& attention) : plan_(plan), a_(attention) {}

  std::optional<MaskedKeys> Find() {
    const bool plain = plan_.exprs[a_.weight].kind == ExprKind::kLoad && plan_.fault_count == 0;
    if (!plain) return std::nullopt;
    std::set<ExprId> seen;
    return FindIn(a_.score, seen);
  }

 private:
  bool IsOp(ExprId id, OpKind op) const { return plan_.exprs[id].kind == ExprKind::kOp && plan_.exprs[id].op == op; }

  std::optional<MaskedKeys> FindIn(ExprId id, std::set<ExprId>& seen) {
    if (!seen.insert(id).second) return std::nullopt;
    const Expr e = plan_.exprs[id];
    if (IsOp(id, OpKind::kSelect)) {
      for (const bool condition : {false, true}) {
        const ExprId end = EndOfOthers(e.args[0], condition);
        if (end < 0) continue;
        const ExprId score = With(a_.score, id, e.args[condition ? 1 : 2]);
        if (!ReadsFactors(score)) return MaskedKeys{end, IsNegativeInfinity(score), score};
      }
    }
    for (ExprId arg : e.args) {
      if (auto found = FindIn(arg, seen)) return found;
    }
    return std::nullopt;
  }

  bool IsNegativeInfinity(ExprId id) const {
    const Expr& e = plan_.exprs[id];
    return e.kind == ExprKind::kLiteral && IsFloat(e.dtype) &&
           ElementToDouble(e.dtype, &e.bits) == -std::numeric_limits<double>::infinity();
  }

  // The first key from which on `condition` is always `value`; -1 if unknown.
  ExprId EndOfOthers(ExprId condition, bool value) {
    const Expr e = plan_.exprs[condition];
    if (IsOp(condition, OpKind::kNot)) return EndOfOthers(e.args[0], !value);
    if (IsOp(condition, value ? OpKind::kOr : OpKind::kAnd)) {
      const ExprId end = EndOfOthers(e.args[0], value);
      return end >= 0 ? end : EndOfOthers(e.args[1], value);
    }
    if (e.kind == ExprKind::kIndexLess) return EndOfLess(e.args[0], e.args[1], /*or_equal=*/false, value);
    if (e.kind != ExprKind::kOp) return -1;
    switch (e.op) {
      case OpKind::kLt:
        return EndOfLess(e.args[0], e.args[1], /*or_equal=*/false, value);
      case OpKind::kLe:
        return EndOfLess(e.args[0], e.args[1], /*or_equal=*/true, value);
      case OpKind::kGt:
        return EndOfLess(e.args[1], e.args[0], /*or_equal=*/false, value);
      case OpKind::kGe:
        return EndOfLess(e.args[1], e.args[0], /*or_equal=*/true, value);
      default:
        return -1;
    }
  }

  // n < bound is false from `bound` on; bound < n is true from bound + 1 on.
  ExprId EndOfLess(ExprId less, ExprId more, bool or_equal, bool value) {
    const ExprId key = value ? more : less, bound = value ? less : more;
    std::optional<Position> position = PositionOf(key);
    const DType dtype = plan_.exprs[bound].dtype;
    if (!position || (dtype != DType::kI64 && dtype != DType::kI32) || DependsOn(plan_, bound, a_.n)) return -1;
    ExprId end = Clamped(dtype == DType::kI64 ? bound : Op(OpKind::kCast, {bound}));
    if (position->offset >= 0) end = Op(OpKind::kSub, {end, position->offset});
    return or_equal != value ? Op(OpKind::kAdd, {end, Literal(1)}) : end;
  }

  // The index n + offset; offset -1: none.
  struct Position {
    ExprId offset = -1;
  };
  std::optional<Position> PositionOf(ExprId id) {
    const Expr e = plan_.exprs[id];
    const bool integer = e.dtype == DType::kI64 || e.dtype == DType::kI32;
    if (IsOp(id, OpKind::kCast) && integer && plan_.exprs[e.args[0]].kind == ExprKind::kAxis) {
      return PositionOf(e.args[0]);
    }
    if (e.kind == ExprKind::kAxis && e.ref == a_.n) return Position{};
    if (e.kind != ExprKind::kIndexAdd) return std::nullopt;
    for (const int side : {0, 1}) {
      const Expr& axis = plan_.exprs[e.args[side]];
      if (axis.kind != ExprKind::kAxis || axis.ref != a_.n || DependsOn(plan_, e.args[1 - side], a_.n)) continue;
      return Position{e.args[1 - side]};
    }
    return std::nullopt;
  }

  // Clamps a bound to [-kFar, kFar], so that later sums cannot overflow; both ends are beyond all keys.
  ExprId Clamped(ExprId id) {
    constexpr int64_t kFar = int64_t{1} << 40;
    return Op(OpKind::kMax, {Op(OpKind::kMin, {id, Literal(kFar)}), Literal(-kFar)});
  }

  ExprId Op(OpKind op, std::vector<ExprId> args) {
    return plan_.Add({.kind = ExprKind::kOp, .dtype = DType::kI64, .op = op, .args = std::move(args)});
  }
  ExprId Literal(int64_t value) {
    return plan_.Add({.kind = ExprKind::kLiteral, .dtype = DType::kI64, .bits = static_cast<uint64_t>(value)});
  }

  // `id` with every `part` replaced by `by`.
  ExprId With(ExprId id, ExprId part, ExprId by) {
    std::map<ExprId, ExprId> known = {{part, by}};
    return With(id, known);
  }
  ExprId With(ExprId id, std::map<ExprId, ExprId>& known) {
    if (const auto found = known.find(id); found != known.end()) return found->second;
    Expr e = plan_.exprs[id];
    for (ExprId& arg : e.args) arg = With(arg, known);
    if (e.predicate >= 0) e.predicate = With(e.predicate, known);
    return known[id] = plan_.Add(std::move(e));
  }

  bool ReadsFactors(ExprId id) const {
    const Expr& e = plan_.exprs[id];
    if (e.kind == ExprKind::kLoad && e.ref == a_.scores) return true;
    if (e.predicate >= 0 && ReadsFactors(e.predicate)) return true;
    for (ExprId arg : e.args) {
      if (ReadsFactors(arg)) return true;
    }
    return false;
  }

  KernelPlan& plan_;
  const Attention& a_;
};

}  // namespace

std::optional<MaskedKeys> FindMaskedKeys(KernelPlan& plan, const Attention& attention) {
  return Finder(plan, attention).Find();
}

}  // namespace tailor
