// The values of symbols in the reference evaluator: from dim sizes of inputs, or bound during a run.
#ifndef TAILOR_TESTS_SUPPORT_REFERENCE_SYMBOLS_H_
#define TAILOR_TESTS_SUPPORT_REFERENCE_SYMBOLS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "tests/support/reference_shapes.h"

namespace tailor::reference {

// c*S + d, with c > 0: a dim size that says what S is.
struct LinearSymbol {
  SymbolId symbol = -1;
  int64_t coefficient = 0, offset = 0;
};
std::optional<LinearSymbol> AsLinear(const DimExpr& dim);

// By SymbolId: the first node that says in the middle of a run what a symbol is. None for those that inputs have.
std::vector<std::optional<NodeId>> SymbolSources(const Graph& graph);

// All that a node's results and attributes mention.
std::vector<SymbolId> SymbolsOf(const Node& node);

// Symbols at which the graph's inputs have the dim sizes `inputs`; those that only the run says are unbound.
// INVALID_ARGUMENT where there are none, or CheckSymbols refuses them.
absl::StatusOr<std::vector<int64_t>> BindInputs(const Graph& graph, const std::vector<Dims>& inputs);

// Makes `shape` have the dim sizes `dims`: gives its lone symbols values where they have none. INVALID_ARGUMENT where
// a dim size differs.
absl::Status BindShape(const Graph& graph, const Shape& shape, const Dims& dims, std::vector<int64_t>* symbols);

// INVALID_ARGUMENT where a symbol leaves its declared range or an assumption does not hold; what is not bound yet
// passes.
absl::Status CheckSymbols(const Graph& graph, const std::vector<int64_t>& symbols);

}  // namespace tailor::reference

#endif  // TAILOR_TESTS_SUPPORT_REFERENCE_SYMBOLS_H_
