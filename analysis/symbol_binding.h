// Where symbols get their values: solving them from input dims, and what must hold of the input dims.
#ifndef TAILOR_ANALYSIS_SYMBOL_BINDING_H_
#define TAILOR_ANALYSIS_SYMBOL_BINDING_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "analysis/fact_store.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// Every symbol that an input dim of form c*S + d gives, c > 0, in input order. S itself is preferred, then
// c = 1, then the first.
std::vector<SymbolBinding> BindSymbols(const Graph& graph);

// OK if every symbol that `graph` uses is bound, or equals an expression over bound ones.
absl::Status CheckSolvable(const Graph& graph, const FactStore& store);

// `input "ids" dim 1`
std::string InputDimText(const Graph& graph, int input, int dim);

// Checks of the raw input dims, in input order, then of declared ranges and divisors, by symbol.
std::vector<ShapeCheck> SignatureChecks(const Graph& graph, absl::Span<const SymbolBinding> bindings,
                                        const FactStore& store);

}  // namespace tailor

#endif  // TAILOR_ANALYSIS_SYMBOL_BINDING_H_
