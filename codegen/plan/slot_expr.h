// SlotExpr: a quantity of a launch (tasks, chunk size, bytes, clocks) as an expression over the kernel's dim slots and
// the number of workers. The host program evaluates it at run time.
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

// Algebra, overflow and divisor rules are those of DimExpr; the variables differ. An immutable value type, cheap to
// copy.
class SlotExpr {
 public:
  SlotExpr() = default;                            // 0
  SlotExpr(int64_t constant) : expr_(constant) {}  // NOLINT(runtime/explicit): as DimExpr's
  static SlotExpr Slot(int32_t slot) { return SlotExpr(DimExpr::Symbol(slot)); }
  // RtContext::workers: CPU threads, or multiprocessors of a GPU.
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

  // nullopt on overflow or a divisor <= 0. `slots` by number; an expression with workers needs `workers`.
  std::optional<int64_t> Evaluate(absl::Span<const int64_t> slots, int64_t workers = 0) const;
  // The expression with `slot` replaced by `value`.
  SlotExpr WithSlot(int32_t slot, int64_t value) const;
  SlotExpr WithWorkers(int64_t workers) const;
  // The expression with slot i replaced by slot slots[i].
  SlotExpr Renumbered(absl::Span<const int> slots) const;
  std::vector<int32_t> Slots() const;  // used slots, ascending
  bool OverWorkers() const;            // whether it depends on the number of workers

  std::string Text() const;  // "4*d0 + floordiv(d1, workers)"
  // Parses the output of Text().
  static absl::StatusOr<SlotExpr> Parse(absl::string_view text);

  // For emission: symbol i is slot i, symbol kWorkers the number of workers.
  const DimExpr& expr() const { return expr_; }
  static constexpr SymbolId kWorkers = INT32_MAX;

 private:
  explicit SlotExpr(DimExpr expr) : expr_(std::move(expr)) {}
  DimExpr expr_;
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_SLOT_EXPR_H_
