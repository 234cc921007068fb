// ShapeFacts: what is known about the symbols of a graph (BladeDISC 3.1, DISC 4.2.1, TSCompiler 4.1).
//
// Facts come from op semantics (both ways: siblings), declared symbol ranges and divisors, and the
// front end's assumptions. They are collected once by a worklist that runs to a fixpoint within a
// term budget; passes ask, none recomputes. An equality that is needed but cannot be proved from
// input structure alone becomes both a fact and a Check that the executable runs before any launch.
//
// Immutable after Collect; safe to share between threads.
#ifndef TAILOR_ANALYSIS_SHAPE_FACTS_H_
#define TAILOR_ANALYSIS_SHAPE_FACTS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

struct Range {
  int64_t min = 0;
  int64_t max = INT64_MAX;
  friend bool operator==(const Range&, const Range&) = default;
};

// Where a symbol's value comes from: input dim `dim` of graph input number `input` holds
// coefficient * symbol + offset.
struct SymbolBinding {
  SymbolId symbol = -1;
  int input = -1;
  int dim = -1;
  int64_t coefficient = 1;
  int64_t offset = 0;
};

// A runtime check. Fails unless `lhs <relation> rhs`, evaluated in order and as they stand, over bound symbols:
// Canonical takes checks for granted. In `message`, {lhs} and {rhs} stand for the
// two values: `input "mask" dim 1 is {lhs}, but S is {rhs} from input "ids" dim 1`.
struct ShapeCheck {
  enum class Relation : uint8_t {
    kEqual,
    kAtLeast,     // lhs >= rhs
    kAtMost,      // lhs <= rhs
    kMultipleOf,  // lhs mod rhs == 0; rhs is a positive constant
    kBroadcasts,  // lhs == rhs, lhs == 1 or rhs == 1
  };
  Relation relation;
  DimExpr lhs, rhs;
  // When >= 0: lhs is the raw dim size of input dim (input, dim), not an expression over symbols.
  int input = -1;
  int dim = -1;
  std::string message;
  std::string node;  // name of the node whose semantics ask for it; empty for the signature
};

// One fact with its origin, for `explain`, dumps and goldens: "S == T (dot %5: contracted dims)".
struct Fact {
  std::string text;
  std::string source;
};

class ShapeFacts {
 public:
  // Fails with INVALID_ARGUMENT naming the symbol if one cannot be solved from an input dim
  // c*S + d, or naming op and dims if facts contradict each other.
  static absl::StatusOr<ShapeFacts> Collect(const Graph& graph);

  // `e` over class representatives, simplified with all facts (ranges settle min, max, bcast, mod).
  DimExpr Canonical(const DimExpr& e) const;
  bool ProvablyEqual(const DimExpr& a, const DimExpr& b) const;
  // True if the products of the two lists are provably equal (collapse equality).
  bool ProvablyEqualProduct(absl::Span<const DimExpr> a, absl::Span<const DimExpr> b) const;
  bool ProvablyDivisible(const DimExpr& e, int64_t divisor) const;
  int64_t LargestKnownDivisor(const DimExpr& e) const;  // at least 1; 2^62 where `e` is 0
  Range RangeOf(const DimExpr& e) const;
  // Likely values of a symbol's class, from all its members.
  std::vector<int64_t> LikelyOf(SymbolId symbol) const;

  // One per symbol that an input dim gives, in input order. Symbols without one equal expressions over the
  // others, by which Canonical replaces them.
  absl::Span<const SymbolBinding> bindings() const;
  absl::Span<const ShapeCheck> checks() const;
  absl::Span<const Fact> facts() const;
  std::string ToText() const;  // golden form: symbols, classes, facts, bindings, checks

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace tailor

#endif  // TAILOR_ANALYSIS_SHAPE_FACTS_H_
