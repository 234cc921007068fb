#include "analysis/prover.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "analysis/dim_terms.h"
#include "analysis/interval.h"
#include "graph/dim_bounds.h"
#include "graph/status_macros.h"
#include "graph/status_node.h"

namespace tailor {
namespace {

using Relation = ShapeCheck::Relation;

// Whether `whole` is min(part, c) with c >= 2, which is 1 exactly where `part` is 1.
bool IsOneWith(const FactStore& store, const DimExpr& whole, const DimExpr& part) {
  std::vector<DimExpr> leaves = LeavesOf(DimExpr::AtomKind::kMin, whole);
  auto at_least_two = [&](const DimExpr& leaf) { return leaf == part || store.RangeOf(leaf).min >= 2; };
  return std::find(leaves.begin(), leaves.end(), part) != leaves.end() &&
         std::all_of(leaves.begin(), leaves.end(), at_least_two);
}

// Whether two dim sizes that broadcast are equal: neither is ever 1, or both are 1 at the same time.
bool BroadcastMeansEqual(const FactStore& store, const DimExpr& lhs, const DimExpr& rhs) {
  if (store.NeverOne(lhs) && store.NeverOne(rhs)) return true;
  DimExpr a = store.Canonical(lhs), b = store.Canonical(rhs);
  return IsOneWith(store, a, b) || IsOneWith(store, b, a);
}

}  // namespace

absl::Status Prover::Settle(absl::Span<const Obligation> obligations) {
  for (const Obligation& o : obligations) TAILOR_RETURN_IF_ERROR(SettleOne(o));
  // Later facts may prove that two broadcasting dim sizes are equal, which is a new fact. Repeats until nothing
  // changes.
  for (size_t before = facts_.size() + 1; before != facts_.size();) {
    before = facts_.size();
    for (const Obligation* o : std::exchange(open_broadcasts_, {})) {
      if (!BroadcastMeansEqual(*store_, o->lhs, o->rhs)) {
        open_broadcasts_.push_back(o);
        continue;
      }
      FactStore::Outcome outcome = store_->AssertEqual(o->lhs, o->rhs);
      if (outcome == FactStore::Outcome::kImpossible) return Contradiction(*o);
      if (outcome == FactStore::Outcome::kLearned) AddFact(*o, "==");
    }
  }
  return absl::OkStatus();
}

absl::Status Prover::SettleOne(const Obligation& o) {
  switch (o.relation) {
    case Relation::kEqual:
      return SettleEqual(o);
    case Relation::kBroadcasts:
      return SettleBroadcasts(o);
    default:
      return SettleBound(o);
  }
}

absl::Status Prover::SettleEqual(const Obligation& o) {
  FactStore::Outcome outcome = store_->AssertEqual(o.lhs, o.rhs);
  if (outcome == FactStore::Outcome::kImpossible) return Contradiction(o);
  if (outcome == FactStore::Outcome::kLearned) {
    AddFact(o, "==");
    AddCheck(o, Relation::kEqual);
  }
  return absl::OkStatus();
}

absl::Status Prover::SettleBroadcasts(const Obligation& o) {
  if (BroadcastMeansEqual(*store_, o.lhs, o.rhs)) return SettleEqual(o);
  DimExpr lhs = store_->Canonical(o.lhs), rhs = store_->Canonical(o.rhs);
  if (lhs == DimExpr(1) || rhs == DimExpr(1) || store_->ProvablyEqual(lhs, rhs) || groups_.Joined(lhs, rhs) ||
      IsAtLeastOne(lhs, rhs) || IsAtLeastOne(rhs, lhs)) {
    return absl::OkStatus();
  }
  groups_.Join(lhs, rhs, *store_);
  AddFact(o, "broadcasts with");
  AddCheck(o, Relation::kBroadcasts);
  open_broadcasts_.push_back(&o);
  // A dim size that broadcasts with a constant c is c or 1.
  for (const auto& [one, other] : {std::pair(lhs, rhs), std::pair(rhs, lhs)}) {
    std::optional<int64_t> c = one.constant();
    if (c && !store_->Restrict(other, {std::min<int64_t>(*c, 1), std::max<int64_t>(*c, 1)})) {
      return Contradiction(o);
    }
  }
  return absl::OkStatus();
}

absl::Status Prover::SettleBound(const Obligation& o) {
  bool at_least = o.relation == Relation::kAtLeast;
  DimExpr slack = at_least ? o.lhs - o.rhs : o.rhs - o.lhs;
  Range range = store_->RangeOf(slack);
  if (range.min >= 0) return absl::OkStatus();
  if (range.max < 0 || !store_->Restrict(slack, {0, INT64_MAX})) {
    return o.assured ? absl::OkStatus() : Contradiction(o);  // the graph does not run then
  }
  AddFact(o, at_least ? ">=" : "<=");
  AddCheck(o, o.relation);
  return absl::OkStatus();
}

absl::Status Prover::Contradiction(const Obligation& o) const {
  std::string message = ContradictionMessage(o, [this](const DimExpr& e) { return Describe(e); });
  return WithNode(absl::InvalidArgumentError(message), o.node);
}

// "S in [0, 256], a multiple of 8"
std::string Prover::Describe(const DimExpr& e) const {
  std::string text = graph_.DimText(e);
  if (e.constant()) return text;
  DimExpr canonical = store_->Canonical(e);
  if (canonical != e) absl::StrAppend(&text, " = ", graph_.DimText(canonical));
  if (canonical.constant()) return text;
  Range range = store_->RangeOf(e);
  absl::StrAppend(&text, " in [", range.min, ", ", range.max, "]");
  int64_t divisor = store_->DivisorOf(e);
  return divisor > 1 ? absl::StrCat(text, ", a multiple of ", divisor) : text;
}

void Prover::AddCheck(const Obligation& o, Relation relation) {
  if (o.assured) return;
  DimExpr lhs = store_->OverBoundSymbols(o.lhs), rhs = store_->OverBoundSymbols(o.rhs);
  if (relation == Relation::kEqual && lhs == rhs) return;  // the equality defines an unbound symbol
  checks_.push_back({relation, lhs, rhs, -1, -1, CheckMessage(o, graph_), o.node});
}

void Prover::AddFact(const Obligation& o, absl::string_view relation) {
  facts_.push_back({absl::StrCat(graph_.DimText(o.lhs), " ", relation, " ", graph_.DimText(o.rhs)),
                    absl::StrCat(o.location, ": ", o.requirement)});
}

}  // namespace tailor
