#include "codegen/host/emit/emit_dim.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

namespace tailor::host {
namespace {

struct Interval {
  int64_t min, max;
};

std::optional<Interval> Sum(DimValue a, DimValue b) {
  Interval sum;
  if (__builtin_add_overflow(a.min, b.min, &sum.min)) return std::nullopt;
  if (__builtin_add_overflow(a.max, b.max, &sum.max)) return std::nullopt;
  return sum;
}

std::optional<Interval> ProductOf(DimValue a, DimValue b) {
  int64_t corner[4];
  if (__builtin_mul_overflow(a.min, b.min, &corner[0])) return std::nullopt;
  if (__builtin_mul_overflow(a.min, b.max, &corner[1])) return std::nullopt;
  if (__builtin_mul_overflow(a.max, b.min, &corner[2])) return std::nullopt;
  if (__builtin_mul_overflow(a.max, b.max, &corner[3])) return std::nullopt;
  const auto [min, max] = std::minmax_element(corner, corner + 4);
  return Interval{*min, *max};
}

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

void DimEmitter::SetSymbol(SymbolId id, DimValue value) {
  symbols_[id] = value;
  memo_.clear();
}

void DimEmitter::Narrow(SymbolId id, int64_t min, int64_t max) {
  DimValue& symbol = symbols_.at(id);
  symbol.min = std::max(symbol.min, min);
  symbol.max = std::max(symbol.min, std::min(symbol.max, max));
  memo_.clear();
}

DimValue DimEmitter::Emit(const DimExpr& e) {
  assert(e.valid());
  if (const auto found = memo_.find(e); found != memo_.end()) return found->second;
  const DimValue value = EmitUncached(e);
  memo_.emplace(e, value);
  return value;
}

DimValue DimEmitter::EmitUncached(const DimExpr& e) {
  if (const std::optional<int64_t> constant = e.constant()) return {b_.getInt64(*constant), *constant, *constant};
  std::optional<DimValue> sum;
  for (const DimExpr::Term& term : e.terms()) {
    std::optional<DimValue> product;
    if (term.coefficient != 1 || term.factors.empty()) {
      product = DimValue{b_.getInt64(term.coefficient), term.coefficient, term.coefficient};
    }
    for (const DimExpr::Factor& factor : term.factors) {
      const DimValue atom = EmitAtom(*factor.atom);
      for (int32_t i = 0; i < factor.power; ++i) product = product ? Multiply(*product, atom) : atom;
    }
    sum = sum ? Add(*sum, *product) : *product;
  }
  return *sum;
}

DimValue DimEmitter::EmitAtom(const DimExpr::Atom& atom) {
  using Kind = DimExpr::AtomKind;
  if (atom.kind == Kind::kSymbol) {
    assert(HasSymbol(atom.symbol));
    return symbols_.at(atom.symbol);
  }
  const DimValue a = Emit(atom.lhs);
  const DimValue b = Emit(atom.rhs);
  switch (atom.kind) {
    case Kind::kMin:
      return {b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a.value, b.value), std::min(a.min, b.min),
              std::min(a.max, b.max)};
    case Kind::kMax:
      return {b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a.value, b.value), std::max(a.min, b.min),
              std::max(a.max, b.max)};
    case Kind::kBcast: {
      llvm::Value* void_broadcast = b_.CreateICmpNE(a.value, b_.getInt64(1));
      return {b_.CreateSelect(void_broadcast, a.value, b.value), std::min(a.min, b.min), std::max(a.max, b.max)};
    }
    default:
      return EmitDivision(atom.kind, a, b);
  }
}

// Rounds towards minus infinity. Leaves the path unless the divisor is positive.
DimValue DimEmitter::EmitDivision(DimExpr::AtomKind kind, DimValue a, DimValue b) {
  if (b.min < 1) {
    leave_if_(b_.CreateICmpSLT(b.value, b_.getInt64(1)));
    b.min = 1;
    b.max = std::max<int64_t>(b.max, 1);
  }
  const bool natural = a.min >= 0;
  if (kind == DimExpr::AtomKind::kMod) {
    const DimValue range{nullptr, 0, natural ? std::min(a.max, b.max - 1) : b.max - 1};
    if (natural) return {b_.CreateURem(a.value, b.value), range.min, range.max};
    llvm::Value* rest = b_.CreateSRem(a.value, b.value);
    llvm::Value* negative = b_.CreateICmpSLT(rest, b_.getInt64(0));
    return {b_.CreateSelect(negative, b_.CreateAdd(rest, b.value), rest), range.min, range.max};
  }
  if (natural) return {b_.CreateUDiv(a.value, b.value), a.min / b.max, a.max / b.min};
  llvm::Value* quotient = b_.CreateSDiv(a.value, b.value);
  llvm::Value* negative = b_.CreateICmpSLT(b_.CreateSRem(a.value, b.value), b_.getInt64(0));
  return {b_.CreateSub(quotient, b_.CreateZExt(negative, b_.getInt64Ty())), FloorDivide(a.min, b.min),
          a.max >= 0 ? a.max / b.min : -1};
}

DimValue DimEmitter::Add(DimValue a, DimValue b) {
  if (const auto sum = Sum(a, b)) return {b_.CreateNSWAdd(a.value, b.value), sum->min, sum->max};
  return {Checked(llvm::Intrinsic::sadd_with_overflow, a.value, b.value), a.min >= 0 && b.min >= 0 ? 0 : INT64_MIN,
          INT64_MAX};
}

DimValue DimEmitter::Multiply(DimValue a, DimValue b) {
  if (const auto product = ProductOf(a, b)) return {b_.CreateNSWMul(a.value, b.value), product->min, product->max};
  return {Checked(llvm::Intrinsic::smul_with_overflow, a.value, b.value), a.min >= 0 && b.min >= 0 ? 0 : INT64_MIN,
          INT64_MAX};
}

llvm::Value* DimEmitter::Checked(llvm::Intrinsic::ID operation, llvm::Value* a, llvm::Value* b) {
  llvm::Value* pair = b_.CreateBinaryIntrinsic(operation, a, b);
  leave_if_(b_.CreateExtractValue(pair, 1));
  return b_.CreateExtractValue(pair, 0);
}

}  // namespace tailor::host
