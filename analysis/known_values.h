// Values of one element that follow from dim sizes and constants: what shape arithmetic in a graph computes.
#ifndef TAILOR_ANALYSIS_KNOWN_VALUES_H_
#define TAILOR_ANALYSIS_KNOWN_VALUES_H_

#include <functional>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace tailor {

// The nodes' values, as far as they are known: those of type i64 and bool with one element, as expressions over
// symbols. True is 1. Linear in the number of nodes.
class KnownValues {
 public:
  struct Source {
    std::function<std::optional<DimExpr>(int input)> input;         // the value of an input
    std::function<std::optional<DimExpr>(SymbolId symbol)> symbol;  // a symbol of the graph, over those of the result
  };
  KnownValues(const Graph& graph, const Source& source);
  const std::optional<DimExpr>& of(Value v) const { return values_[v.node]; }

 private:
  std::vector<std::optional<DimExpr>> values_;  // by node; nodes with several results have none
};

}  // namespace tailor

#endif  // TAILOR_ANALYSIS_KNOWN_VALUES_H_
