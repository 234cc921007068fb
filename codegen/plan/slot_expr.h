// SlotExpr: a quantity of a launch (tasks, chunk size, bytes, clocks) as an expression over the values of the kernel's dim
// slots and the number of workers. Launches evaluate it once the dim sizes are known.
#ifndef TAILOR_CODEGEN_PLAN_SLOT_EXPR_H_
#define TAILOR_CODEGEN_PLAN_SLOT_EXPR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/dim_expr.h"

namespace tailor {

// The algebra is DimExpr's, and so are its rules for overflow and for divisors; the variables are others. Immutable
// value type; cheap to copy.
class SlotExpr {
 public:
  SlotExpr() = default;                            // 0
  SlotExpr(int64_t constant) : expr_(constant) {}  // NOLINT(runtime/explicit): as DimExpr's
  static SlotExpr Slot(int32_t slot) { return SlotExpr(DimExpr::Symbol(slot)); }
  // RtContext::workers: threads of the host, multiprocessors of a device.
  static SlotExpr Workers() { return SlotExpr(DimExpr::Symbol(kWorkers)); }

  friend SlotExpr operator+(const SlotExpr& a, const SlotExpr& b) { return SlotExpr(a.expr_ + b.expr_); }
  friend SlotExpr operator-(const SlotExpr& a, const SlotExpr& b) { return SlotExpr(a.expr_ - b.expr_); }
  friend SlotExpr operator*(const SlotExpr& a, const SlotExpr& b) { return SlotExpr(a.expr_ * b.expr_); }
  static SlotExpr FloorDiv(const SlotExpr& a, const SlotExpr& b) {
    return SlotExpr(DimExpr::FloorDiv(a.expr_, b.expr_));
  }
  static SlotExpr CeilDiv(const SlotExpr& a, const SlotExpr& b) { return SlotExpr(DimExpr::CeilDiv(a.expr_, b.expr_)); }
  static SlotExpr Min(const SlotExpr& a, const SlotExpr& b) { return SlotExpr(DimExpr::Min(a.expr_, b.expr_)); }
  static SlotExpr Max(const SlotExpr& a, const SlotExpr& b) { return SlotExpr(DimExpr::Max(a.expr_, b.expr_)); }
  friend bool operator==(const SlotExpr&, const SlotExpr&) = default;

  std::optional<int64_t> constant() const { return expr_.constant(); }
  std::optional<int32_t> slot() const;  // set when the expression is exactly one slot
  bool valid() const { return expr_.valid(); }

  // Nothing on overflow or a divisor <= 0. `slots` by number; an expression over workers needs `workers`.
  std::optional<int64_t> Evaluate(absl::Span<const int64_t> slots, int64_t workers = 0) const;
  // `slot` becomes `value`.
  SlotExpr WithSlot(int32_t slot, int64_t value) const;
  SlotExpr WithWorkers(int64_t workers) const;
  // Slot i becomes slot slots[i].
  SlotExpr Renumbered(absl::Span<const int> slots) const;
  std::vector<int32_t> Slots() const;  // those in the expression, ascending
  bool OverWorkers() const;            // whether the workers are in it

  std::string Text() const;  // "4*d0 + floordiv(d1, workers)"
  // What Text() writes.
  static absl::StatusOr<SlotExpr> Parse(absl::string_view text);

  // For emission: slot i is symbol i, the workers are symbol kWorkers.
  const DimExpr& expr() const { return expr_; }
  static constexpr SymbolId kWorkers = INT32_MAX;

 private:
  explicit SlotExpr(DimExpr expr) : expr_(std::move(expr)) {}
  DimExpr expr_;
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_SLOT_EXPR_H_
