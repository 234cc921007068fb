#include "codegen/plan/slot_expr.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/status_macros.h"
#include "graph/text.h"

namespace tailor {
namespace {

constexpr char kWorkersName[] = "workers";

std::optional<SymbolId> FindVariable(absl::string_view name) {
  if (name == kWorkersName) return SlotExpr::kWorkers;
  int32_t slot = -1;
  if (!absl::ConsumePrefix(&name, "d") || !absl::SimpleAtoi(name, &slot) || slot < 0) return std::nullopt;
  return slot;
}

}  // namespace

std::optional<int32_t> SlotExpr::slot() const {
  const std::optional<SymbolId> symbol = expr_.symbol();
  return symbol == kWorkers ? std::nullopt : symbol;
}

std::optional<int64_t> SlotExpr::Evaluate(absl::Span<const int64_t> slots, int64_t workers) const {
  return WithWorkers(workers).expr_.Evaluate(slots);
}

SlotExpr SlotExpr::WithWorkers(int64_t workers) const { return WithSlot(kWorkers, workers); }

SlotExpr SlotExpr::WithSlot(int32_t slot, int64_t value) const {
  return SlotExpr(expr_.Substitute([&](SymbolId id) { return id == slot ? DimExpr(value) : DimExpr::Symbol(id); }));
}

SlotExpr SlotExpr::Renumbered(absl::Span<const int> slots) const {
  return SlotExpr(expr_.Substitute([&](SymbolId id) { return DimExpr::Symbol(id == kWorkers ? id : slots[id]); }));
}

std::vector<int32_t> SlotExpr::Slots() const {
  std::vector<SymbolId> symbols = expr_.Symbols();
  if (!symbols.empty() && symbols.back() == kWorkers) symbols.pop_back();
  return symbols;
}

bool SlotExpr::OverWorkers() const {
  const std::vector<SymbolId> symbols = expr_.Symbols();
  return !symbols.empty() && symbols.back() == kWorkers;
}

std::string SlotExpr::Text() const {
  return expr_.ToText([](SymbolId id) { return id == kWorkers ? kWorkersName : absl::StrCat("d", id); });
}

absl::StatusOr<SlotExpr> SlotExpr::Parse(absl::string_view text) {
  TAILOR_ASSIGN_OR_RETURN(DimExpr expr, ParseDim(text, FindVariable));
  return SlotExpr(std::move(expr));
}

}  // namespace tailor
