// Helpers of the C functions that append compound operations: optional operands and out-parameters.
#ifndef TAILOR_API_GRAPH_BUILDERS_H_
#define TAILOR_API_GRAPH_BUILDERS_H_

#include <cassert>
#include <initializer_list>
#include <vector>

#include "absl/status/statusor.h"
#include "api/graph_addition.h"
#include "graph/status_macros.h"

namespace tailor {

// The value of an optional operand; Value{} (node -1) if `value` is 0.
inline absl::StatusOr<Value> FindOptional(const tailor_graph& graph, const char* function, absl::string_view name,
                                          tailor_value value) {
  if (value == 0) return Value{};
  return FindValue(graph, function, name, value);
}

struct OutParameter {
  const char* name;
  tailor_value* out;
};

// Calls `build`, which appends to `graph` and returns one value per out-parameter, and sets `outs` in that order. On
// failure the graph is unchanged and no out-parameter is set.
template <typename Build>
tailor_status* BuildSeveral(const char* function, tailor_graph* graph, std::initializer_list<OutParameter> outs,
                            Build build) {
  return AddToGraph(function, graph, [&]() -> absl::Status {
    for (const OutParameter& out : outs) TAILOR_RETURN_IF_ERROR(CheckPresent(function, out.name, out.out));
    TAILOR_ASSIGN_OR_RETURN(const std::vector<Value> values, build());
    assert(values.size() == outs.size());
    std::vector<tailor_value> handles;
    for (Value value : values) handles.push_back(NewValue(*graph, value));
    for (size_t i = 0; i < handles.size(); ++i) *outs.begin()[i].out = handles[i];
    return absl::OkStatus();
  });
}

// Sets `*out` to the value that `build` returns.
template <typename Build>
tailor_status* BuildOne(const char* function, tailor_graph* graph, tailor_value* out, Build build) {
  return BuildSeveral(function, graph, {{"out", out}}, [&]() -> absl::StatusOr<std::vector<Value>> {
    TAILOR_ASSIGN_OR_RETURN(Value value, build());
    return std::vector<Value>{value};
  });
}

}  // namespace tailor

#endif  // TAILOR_API_GRAPH_BUILDERS_H_
