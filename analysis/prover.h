// Settles obligations in order. Each is proved from declared facts and earlier checks, or becomes a runtime check,
// which is a fact from then on. So a proof rests on earlier checks only, never on its own obligation.
#ifndef TAILOR_ANALYSIS_PROVER_H_
#define TAILOR_ANALYSIS_PROVER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "analysis/broadcast_groups.h"
#include "analysis/fact_store.h"
#include "analysis/obligations.h"

namespace tailor {

class Prover {
 public:
  Prover(const Graph& graph, FactStore* store) : graph_(graph), store_(store) {}

  // Appends to checks() and facts(). INVALID_ARGUMENT, naming the node, if an obligation can never hold.
  absl::Status Settle(absl::Span<const Obligation> obligations);

  const std::vector<ShapeCheck>& checks() const { return checks_; }
  const std::vector<Fact>& facts() const { return facts_; }

 private:
  absl::Status SettleOne(const Obligation& o);
  absl::Status SettleEqual(const Obligation& o);
  absl::Status SettleBroadcasts(const Obligation& o);
  absl::Status SettleBound(const Obligation& o);
  absl::Status Contradiction(const Obligation& o) const;
  std::string Describe(const DimExpr& e) const;
  void AddCheck(const Obligation& o, ShapeCheck::Relation relation);
  void AddFact(const Obligation& o, absl::string_view relation);

  const Graph& graph_;
  FactStore* store_;
  BroadcastGroups groups_;
  std::vector<const Obligation*> open_broadcasts_;  // not yet proved equal; later facts may prove it
  std::vector<ShapeCheck> checks_;
  std::vector<Fact> facts_;
};

}  // namespace tailor

#endif  // TAILOR_ANALYSIS_PROVER_H_
