// What is known of a graph's dims before it is analysed: declared ranges, dims of inputs, and assumptions.
#ifndef TAILOR_API_DIM_FACTS_H_
#define TAILOR_API_DIM_FACTS_H_

#include "analysis/fact_store.h"
#include "graph/graph.h"

namespace tailor {

// Facts about the symbols of `graph` at the time of construction. They hold in every run that its checks accept.
class DimFacts {
 public:
  explicit DimFacts(const Graph& graph);
  // Whether no symbol, input or assumption was added to the graph since.
  bool Describes(const Graph& graph) const;
  Range RangeOf(const DimExpr& dim) const;
  bool ProvablyEqual(const DimExpr& a, const DimExpr& b) const { return store_.ProvablyEqual(a, b); }

 private:
  // The number of min and max whose operands one query tries.
  static constexpr int kMostSplits = 16;
  static constexpr size_t kMostTerms = 64;  // of a sum whose min and max are tried

  Range RangeOf(const DimExpr& dim, int& budget) const;

  Graph::Mark at_;
  FactStore store_;
};

}  // namespace tailor

#endif  // TAILOR_API_DIM_FACTS_H_
