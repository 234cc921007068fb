// ShapeFacts: the known facts about a graph's symbols (BladeDISC 3.1, DISC 4.2.1, TSCompiler 4.1).
//
// Facts come from op semantics (in both directions: siblings), declared symbol ranges and divisors, and the front end's
// assumptions. Collect() computes them once, by a worklist that runs to a fixpoint within a term budget; passes only
// query. A required equality that the inputs' structure does not prove becomes a fact and a check, which the executable
// runs before any launch.
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

// Source of a symbol's value: dim `dim` of graph input `input` holds coefficient * symbol + offset.
struct SymbolBinding {
  SymbolId symbol = -1;
  int input = -1;
  int dim = -1;
  int64_t coefficient = 1;
  int64_t offset = 0;
};

// A runtime check: fails unless `lhs <relation> rhs`. Checks run in order, over bound symbols. Expressions are not
// canonicalized, because Canonical assumes that checks hold. In `message`, {lhs} and {rhs} stand for the two values:
// `input "mask" dim 1 is {lhs}, but S is {rhs} from input "ids" dim 1`.
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
  // If >= 0: lhs is the raw size of input dim (input, dim), not an expression over symbols.
  int input = -1;
  int dim = -1;
  std::string message;
  std::string node;  // name of the node that requires the check; empty for signature checks
};

// A fact and its origin, for `explain`, dumps and golden texts: "S == T (dot %5: contracted dims)".
struct Fact {
  std::string text;
  std::string source;
};

class ShapeFacts {
 public:
  // Fails with INVALID_ARGUMENT naming the symbol if no input dim of the form c*S + d determines it, or naming op and
  // dims if facts contradict each other.
  static absl::StatusOr<ShapeFacts> Collect(const Graph& graph);

  // `e` over class representatives, simplified by all facts (ranges resolve min, max, bcast, mod).
  DimExpr Canonical(const DimExpr& e) const;
  bool ProvablyEqual(const DimExpr& a, const DimExpr& b) const;
  // True if the products of the two lists are provably equal (collapse equality).
  bool ProvablyEqualProduct(absl::Span<const DimExpr> a, absl::Span<const DimExpr> b) const;
  bool ProvablyDivisible(const DimExpr& e, int64_t divisor) const;
  int64_t LargestKnownDivisor(const DimExpr& e) const;  // at least 1; 2^62 if `e` is 0
  Range RangeOf(const DimExpr& e) const;
  // Likely values of a symbol: the union over the symbols equal to it.
  std::vector<int64_t> LikelyOf(SymbolId symbol) const;
  // The values of `e` at likely values of its symbols, at most `most`; none if a symbol has no likely values.
  std::vector<int64_t> LikelyOf(const DimExpr& e, size_t most) const;

  // One binding per symbol that an input dim determines, in input order. Other symbols equal expressions over these;
  // Canonical replaces them.
  absl::Span<const SymbolBinding> bindings() const;
  absl::Span<const ShapeCheck> checks() const;
  absl::Span<const Fact> facts() const;
  std::string ToText() const;  // golden text: symbols, classes, facts, bindings, checks

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace tailor

#endif  // TAILOR_ANALYSIS_SHAPE_FACTS_H_
