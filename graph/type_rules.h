// Result types from operand types: the forward half of shape inference. Rules are local; dim sizes
// that must agree but are not structurally equal are left to ShapeFacts, which turns them into
// facts and compiled checks.
#ifndef TAILOR_GRAPH_TYPE_RULES_H_
#define TAILOR_GRAPH_TYPE_RULES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// Types of the results of `op`. `names` gives operand names for messages, and may be empty. `operands`
// has the op's arity; `attributes` is complete and typed as the op's row says.
// Fails with INVALID_ARGUMENT naming the op, the operand and the offending dtype, rank or dim size;
// constant dim sizes that can never agree fail here.
absl::StatusOr<std::vector<TensorType>> InferTypes(OpKind op, absl::Span<const TensorType> operands,
                                                   absl::Span<const std::string> names, const Attributes& attributes,
                                                   absl::Span<const Region> regions,
                                                   const std::function<std::string(SymbolId)>& symbol_name);

}  // namespace tailor

#endif  // TAILOR_GRAPH_TYPE_RULES_H_
