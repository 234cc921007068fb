// Infers result types from operand types: the forward half of shape inference. Rules are local. Dim sizes that must
// agree but differ structurally are left to ShapeFacts, which proves them or compiles checks.
#ifndef TAILOR_GRAPH_TYPE_RULES_H_
#define TAILOR_GRAPH_TYPE_RULES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// Types of the results of `op`. `names` are operand names for messages and may be empty. `operands` has the op's arity;
// `attributes` is complete and typed as the op's row says.
// Errors:  INVALID_ARGUMENT naming the op, the operand and the offending dtype, rank or dim size; constant dim sizes
//          that can never agree fail here.
absl::StatusOr<std::vector<TensorType>> InferTypes(OpKind op, absl::Span<const TensorType> operands,
                                                   absl::Span<const std::string> names, const Attributes& attributes,
                                                   absl::Span<const Region> regions,
                                                   const std::function<std::string(SymbolId)>& symbol_name);

}  // namespace tailor

#endif  // TAILOR_GRAPH_TYPE_RULES_H_
