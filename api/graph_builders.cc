// Glue of tailor/compiler.h: compound operations.
#include "api/compiler_status.h"
#include "api/graph_handle.h"
#include "graph/builders.h"
#include "graph/status_macros.h"

namespace {

using tailor::Value;

// An operand that may be 0: none.
absl::StatusOr<Value> FindOptional(const tailor_graph& graph, const char* function, absl::string_view name,
                                   tailor_value value) {
  if (value == 0) return Value{};
  return tailor::FindValue(graph, function, name, value);
}

// `*out` is the value that `build` returns.
template <typename Build>
tailor_status* BuildOne(const char* function, tailor_graph* graph, tailor_value* out, Build build) {
  return tailor::AtBoundary([&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(tailor::CheckGraph(function, graph));
    TAILOR_RETURN_IF_ERROR(tailor::CheckPresent(function, "out", out));
    TAILOR_ASSIGN_OR_RETURN(Value value, build());
    *out = tailor::NewValue(*graph, value);
    return absl::OkStatus();
  });
}

}  // namespace

tailor_status* tailor_graph_softmax(tailor_graph* graph, tailor_value x, int64_t axis, tailor_value* out) {
  return BuildOne("tailor_graph_softmax", graph, out, [&]() -> absl::StatusOr<Value> {
    TAILOR_ASSIGN_OR_RETURN(Value operand, tailor::FindValue(*graph, "softmax", "x", x));
    return tailor::Softmax(graph->graph, operand, axis);
  });
}

tailor_status* tailor_graph_log_softmax(tailor_graph* graph, tailor_value x, int64_t axis, tailor_value* out) {
  return BuildOne("tailor_graph_log_softmax", graph, out, [&]() -> absl::StatusOr<Value> {
    TAILOR_ASSIGN_OR_RETURN(Value operand, tailor::FindValue(*graph, "log_softmax", "x", x));
    return tailor::LogSoftmax(graph->graph, operand, axis);
  });
}

tailor_status* tailor_graph_layer_norm(tailor_graph* graph, tailor_value x, tailor_value scale, tailor_value bias,
                                       double epsilon, tailor_value* out) {
  return BuildOne("tailor_graph_layer_norm", graph, out, [&]() -> absl::StatusOr<Value> {
    TAILOR_ASSIGN_OR_RETURN(Value operand, tailor::FindValue(*graph, "layer_norm", "x", x));
    TAILOR_ASSIGN_OR_RETURN(Value factor, FindOptional(*graph, "layer_norm", "scale", scale));
    TAILOR_ASSIGN_OR_RETURN(Value offset, FindOptional(*graph, "layer_norm", "bias", bias));
    return tailor::LayerNorm(graph->graph, operand, factor, offset, epsilon);
  });
}

tailor_status* tailor_graph_gelu(tailor_graph* graph, tailor_value x, tailor_value* out) {
  return BuildOne("tailor_graph_gelu", graph, out, [&]() -> absl::StatusOr<Value> {
    TAILOR_ASSIGN_OR_RETURN(Value operand, tailor::FindValue(*graph, "gelu", "x", x));
    return tailor::GeluErf(graph->graph, operand);
  });
}

tailor_status* tailor_graph_gelu_tanh(tailor_graph* graph, tailor_value x, tailor_value* out) {
  return BuildOne("tailor_graph_gelu_tanh", graph, out, [&]() -> absl::StatusOr<Value> {
    TAILOR_ASSIGN_OR_RETURN(Value operand, tailor::FindValue(*graph, "gelu_tanh", "x", x));
    return tailor::GeluTanh(graph->graph, operand);
  });
}

tailor_status* tailor_graph_l2_normalize(tailor_graph* graph, tailor_value x, int64_t axis, double epsilon,
                                         tailor_value* out) {
  return BuildOne("tailor_graph_l2_normalize", graph, out, [&]() -> absl::StatusOr<Value> {
    TAILOR_ASSIGN_OR_RETURN(Value operand, tailor::FindValue(*graph, "l2_normalize", "x", x));
    return tailor::L2Normalize(graph->graph, operand, axis, epsilon);
  });
}

tailor_status* tailor_graph_attention(tailor_graph* graph, tailor_value query, tailor_value key, tailor_value value,
                                      tailor_value mask, double scale, tailor_value* out) {
  return BuildOne("tailor_graph_attention", graph, out, [&]() -> absl::StatusOr<Value> {
    TAILOR_ASSIGN_OR_RETURN(Value q, tailor::FindValue(*graph, "attention", "query", query));
    TAILOR_ASSIGN_OR_RETURN(Value k, tailor::FindValue(*graph, "attention", "key", key));
    TAILOR_ASSIGN_OR_RETURN(Value v, tailor::FindValue(*graph, "attention", "value", value));
    TAILOR_ASSIGN_OR_RETURN(Value m, FindOptional(*graph, "attention", "mask", mask));
    return tailor::Attention(graph->graph, q, k, v, m, scale);
  });
}
