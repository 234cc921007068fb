// Solves symbols from input dims, and lists the checks of the input dims.
#ifndef TAILOR_ANALYSIS_SYMBOL_BINDING_H_
#define TAILOR_ANALYSIS_SYMBOL_BINDING_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "analysis/fact_store.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// One binding per symbol that an input dim of the form c*S + d determines, c > 0, in input order. Prefers a dim that is
// S itself, then c = 1, then the first such dim.
std::vector<SymbolBinding> BindSymbols(const Graph& graph);

// OK if every symbol used by `graph` is bound or equals an expression over bound symbols.
absl::Status CheckSolvable(const Graph& graph, const FactStore& store);

// `input "ids" dim 1`
std::string InputDimText(const Graph& graph, int input, int dim);

// Checks of the raw input dims, in input order, then of declared ranges and divisors, in symbol order.
std::vector<ShapeCheck> SignatureChecks(const Graph& graph, absl::Span<const SymbolBinding> bindings,
                                        const FactStore& store);

}  // namespace tailor

#endif  // TAILOR_ANALYSIS_SYMBOL_BINDING_H_
