// Glue of tailor/compiler.h: compound operations.
#include "absl/strings/str_cat.h"
#include "api/compiler_arguments.h"
#include "api/graph_builders.h"
#include "graph/builders.h"
#include "graph/convolution.h"
#include "graph/status_macros.h"

namespace {

using tailor::BuildOne;
using tailor::FindOptional;
using tailor::Value;

// The entries of an option array; NULL is the empty list.
std::vector<int64_t> ReadFactors(const int64_t* factors, size_t rank) {
  return factors == nullptr ? std::vector<int64_t>() : std::vector<int64_t>(factors, factors + rank);
}

absl::StatusOr<tailor::Shape> ReadDims(const tailor_graph& graph, const char* function, absl::string_view name,
                                       const tailor_dim* dims, size_t rank) {
  if (dims == nullptr) return tailor::Shape();
  return tailor::FindDims(graph, function, name, dims, rank);
}

absl::StatusOr<tailor::Windows> ReadWindows(const tailor_graph& graph, const char* op,
                                            const tailor_spatial_options& options) {
  if (options.rank > TAILOR_MAX_RANK) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, ": options.rank is ", options.rank, ", more than ", TAILOR_MAX_RANK));
  }
  tailor::Windows windows{.strides = ReadFactors(options.strides, options.rank),
                          .dilations = ReadFactors(options.dilations, options.rank)};
  TAILOR_ASSIGN_OR_RETURN(windows.low, ReadDims(graph, op, "low", options.low, options.rank));
  TAILOR_ASSIGN_OR_RETURN(windows.high, ReadDims(graph, op, "high", options.high, options.rank));
  return windows;
}

}  // namespace

tailor_status* tailor_graph_conv(tailor_graph* graph, tailor_value x, tailor_value weights, tailor_value bias,
                                 int64_t groups, const tailor_spatial_options* options, tailor_value* out) {
  return BuildOne("tailor_graph_conv", graph, out, [&]() -> absl::StatusOr<Value> {
    TAILOR_ASSIGN_OR_RETURN(auto given, tailor::OptionsOrDefaults("conv", options, tailor_spatial_options_init));
    TAILOR_ASSIGN_OR_RETURN(Value operand, tailor::FindValue(*graph, "conv", "x", x));
    TAILOR_ASSIGN_OR_RETURN(Value factors, tailor::FindValue(*graph, "conv", "weights", weights));
    TAILOR_ASSIGN_OR_RETURN(Value offset, FindOptional(*graph, "conv", "bias", bias));
    TAILOR_ASSIGN_OR_RETURN(tailor::Windows windows, ReadWindows(*graph, "conv", given));
    return tailor::Conv(graph->graph, operand, factors, offset, windows, groups);
  });
}

tailor_status* tailor_graph_max_pool(tailor_graph* graph, tailor_value x, const tailor_dim* sizes, size_t size_count,
                                     const tailor_spatial_options* options, tailor_value* out) {
  return BuildOne("tailor_graph_max_pool", graph, out, [&]() -> absl::StatusOr<Value> {
    TAILOR_ASSIGN_OR_RETURN(auto given, tailor::OptionsOrDefaults("max_pool", options, tailor_spatial_options_init));
    TAILOR_ASSIGN_OR_RETURN(Value operand, tailor::FindValue(*graph, "max_pool", "x", x));
    TAILOR_ASSIGN_OR_RETURN(tailor::Shape shape, tailor::FindDims(*graph, "max_pool", "sizes", sizes, size_count));
    TAILOR_ASSIGN_OR_RETURN(tailor::Windows windows, ReadWindows(*graph, "max_pool", given));
    return tailor::MaxPool(graph->graph, operand, shape, windows);
  });
}

tailor_status* tailor_graph_average_pool(tailor_graph* graph, tailor_value x, const tailor_dim* sizes,
                                         size_t size_count, int32_t count_include_pad,
                                         const tailor_spatial_options* options, tailor_value* out) {
  const char* op = "average_pool";
  return BuildOne("tailor_graph_average_pool", graph, out, [&]() -> absl::StatusOr<Value> {
    TAILOR_ASSIGN_OR_RETURN(auto given, tailor::OptionsOrDefaults(op, options, tailor_spatial_options_init));
    TAILOR_ASSIGN_OR_RETURN(Value operand, tailor::FindValue(*graph, op, "x", x));
    TAILOR_ASSIGN_OR_RETURN(tailor::Shape shape, tailor::FindDims(*graph, op, "sizes", sizes, size_count));
    TAILOR_ASSIGN_OR_RETURN(tailor::Windows windows, ReadWindows(*graph, op, given));
    return tailor::AveragePool(graph->graph, operand, shape, windows, count_include_pad != 0);
  });
}

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
