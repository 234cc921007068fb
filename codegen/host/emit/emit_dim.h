// Emits DimExprs as i64 values, with overflow checks except where ranges prove them unnecessary.
#ifndef TAILOR_CODEGEN_HOST_EMIT_EMIT_DIM_H_
#define TAILOR_CODEGEN_HOST_EMIT_EMIT_DIM_H_

#include <cstdint>
#include <functional>

#include "absl/container/flat_hash_map.h"
#include "graph/dim_expr.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::host {

// An emitted i64 value and its known range.
struct DimValue {
  llvm::Value* value = nullptr;
  int64_t min = INT64_MIN;
  int64_t max = INT64_MAX;
};

// Values are memoized, so earlier emission must dominate later emission: all code is on one straight path, which only
// `leave_if` leaves.
class DimEmitter {
 public:
  // Emits code that leaves the path if `condition` (i1) holds; afterwards the builder is on the path.
  using LeaveIf = std::function<void(llvm::Value* condition)>;
  DimEmitter(llvm::IRBuilderBase& b, LeaveIf leave_if) : b_(b), leave_if_(std::move(leave_if)) {}

  void SetSymbol(SymbolId id, DimValue value);
  bool HasSymbol(SymbolId id) const { return symbols_.contains(id); }
  // Intersects the symbol's known range with [min, max].
  void Narrow(SymbolId id, int64_t min, int64_t max);

  // Requires a valid expression whose symbols are all set. Leaves the path on overflow and on divisors < 1.
  DimValue Emit(const DimExpr& e);
  DimValue Add(DimValue a, DimValue b);
  DimValue Multiply(DimValue a, DimValue b);

 private:
  DimValue EmitUncached(const DimExpr& e);
  DimValue EmitAtom(const DimExpr::Atom& atom);
  DimValue EmitDivision(DimExpr::AtomKind kind, DimValue a, DimValue b);
  llvm::Value* Checked(llvm::Intrinsic::ID operation, llvm::Value* a, llvm::Value* b);

  llvm::IRBuilderBase& b_;
  LeaveIf leave_if_;
  absl::flat_hash_map<SymbolId, DimValue> symbols_;
  absl::flat_hash_map<DimExpr, DimValue> memo_;
};

}  // namespace tailor::host

#endif  // TAILOR_CODEGEN_HOST_EMIT_EMIT_DIM_H_
