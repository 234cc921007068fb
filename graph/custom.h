// Custom operators: computed by a function that the host registers with the runtime (tailor_runtime_register). A node
// `custom` states the types of its results itself:
//   attributes  name, attributes: as given to the registered function
//   pure        1: equal operands give equal results within a run, and nothing else depends on a call
//   dtypes      one element type per result, "f32 i64"
//   ranks       one per result
//   shapes      the dim sizes of all results, concatenated
#ifndef TAILOR_GRAPH_CUSTOM_H_
#define TAILOR_GRAPH_CUSTOM_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/shape_rules.h"

namespace tailor {

struct CustomResult {
  TensorType type;
  int counted_dim = -1;  // >= 0: type.shape[counted_dim] is a bound, and the function counts how much of it is used
};

struct CustomOp {
  std::string name;
  std::string attributes;
  bool pure = true;
};

// Appends a call of `op`. Each counted result takes a further result of the node, an i64[] after all others, which the
// function sets; the returned value is sliced to it, and its dim is a fresh symbol named after the operator.
absl::StatusOr<std::vector<Value>> Custom(Graph& graph, const CustomOp& op, absl::Span<const Value> operands,
                                          absl::Span<const CustomResult> results);

// The type rule of `custom`.
absl::StatusOr<std::vector<TensorType>> CustomTypes(const Application& op);

// Whether the node runs even if no output needs it, and is never merged with an equal one: an impure custom operator,
// or a loop or branch with one in a region.
bool HasEffects(const Node& node);

}  // namespace tailor

#endif  // TAILOR_GRAPH_CUSTOM_H_
