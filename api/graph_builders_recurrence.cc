// Glue of tailor/compiler.h: recurrent layers.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "api/compiler_arguments.h"
#include "api/graph_builders.h"
#include "graph/recurrence.h"
#include "graph/status_macros.h"

namespace {

using tailor::Value;
using Values = std::vector<Value>;

std::optional<double> Parameter(const double* parameters, size_t i) {
  if (parameters == nullptr || std::isnan(parameters[i])) return std::nullopt;
  return parameters[i];
}

absl::StatusOr<std::vector<tailor::Activation>> ReadActivations(const char* op,
                                                                const tailor_recurrence_options& options) {
  std::vector<tailor::Activation> activations;
  if (options.activation_count > 0) {
    TAILOR_RETURN_IF_ERROR(tailor::CheckPresent(op, "options.activations", options.activations));
  }
  for (size_t i = 0; i < options.activation_count; ++i) {
    tailor::Activation activation{.alpha = Parameter(options.alphas, i), .beta = Parameter(options.betas, i)};
    TAILOR_ASSIGN_OR_RETURN(activation.name,
                            tailor::ReadString(op, "options.activations", options.activations[i], SIZE_MAX));
    activations.push_back(std::move(activation));
  }
  return activations;
}

absl::StatusOr<tailor::RecurrenceOptions> ReadOptions(const tailor_graph& graph, const char* op,
                                                      const tailor_recurrence_options* options) {
  TAILOR_ASSIGN_OR_RETURN(auto given, tailor::OptionsOrDefaults(op, options, tailor_recurrence_options_init));
  tailor::RecurrenceOptions read{.reverse = given.reverse != 0,
                                 .linear_before_reset = given.linear_before_reset != 0,
                                 .input_forget = given.input_forget != 0};
  if (given.clip != 0) read.clip = given.clip;
  const std::tuple<const char*, tailor_value, Value*> values[] = {
      {"bias", given.bias, &read.bias},
      {"recurrent_bias", given.recurrent_bias, &read.recurrent_bias},
      {"initial_h", given.initial_h, &read.initial_h},
      {"initial_c", given.initial_c, &read.initial_c},
      {"lengths", given.lengths, &read.lengths},
      {"peepholes", given.peepholes, &read.peepholes}};
  for (const auto& [name, value, target] : values) {
    TAILOR_ASSIGN_OR_RETURN(*target, tailor::FindOptional(graph, op, absl::StrCat("options.", name), value));
  }
  TAILOR_ASSIGN_OR_RETURN(read.activations, ReadActivations(op, given));
  return read;
}

using Builder = absl::StatusOr<tailor::RecurrenceResults> (*)(tailor::Graph&, Value, Value, Value,
                                                              const tailor::RecurrenceOptions&);

absl::StatusOr<tailor::RecurrenceResults> Append(tailor_graph* graph, const char* op, Builder build, tailor_value x,
                                                 tailor_value w, tailor_value r,
                                                 const tailor_recurrence_options* options) {
  TAILOR_ASSIGN_OR_RETURN(Value inputs, tailor::FindValue(*graph, op, "x", x));
  TAILOR_ASSIGN_OR_RETURN(Value weights, tailor::FindValue(*graph, op, "w", w));
  TAILOR_ASSIGN_OR_RETURN(Value recurrent, tailor::FindValue(*graph, op, "r", r));
  TAILOR_ASSIGN_OR_RETURN(tailor::RecurrenceOptions given, ReadOptions(*graph, op, options));
  return build(graph->graph, inputs, weights, recurrent, given);
}

}  // namespace

tailor_status* tailor_graph_rnn(tailor_graph* graph, tailor_value x, tailor_value w, tailor_value r,
                                const tailor_recurrence_options* options, tailor_value* y, tailor_value* h) {
  return tailor::BuildSeveral("tailor_graph_rnn", graph, {{"y", y}, {"h", h}}, [&]() -> absl::StatusOr<Values> {
    TAILOR_ASSIGN_OR_RETURN(auto results, Append(graph, "rnn", tailor::Rnn, x, w, r, options));
    return Values{results.y, results.h};
  });
}

tailor_status* tailor_graph_gru(tailor_graph* graph, tailor_value x, tailor_value w, tailor_value r,
                                const tailor_recurrence_options* options, tailor_value* y, tailor_value* h) {
  return tailor::BuildSeveral("tailor_graph_gru", graph, {{"y", y}, {"h", h}}, [&]() -> absl::StatusOr<Values> {
    TAILOR_ASSIGN_OR_RETURN(auto results, Append(graph, "gru", tailor::Gru, x, w, r, options));
    return Values{results.y, results.h};
  });
}

tailor_status* tailor_graph_lstm(tailor_graph* graph, tailor_value x, tailor_value w, tailor_value r,
                                 const tailor_recurrence_options* options, tailor_value* y, tailor_value* h,
                                 tailor_value* c) {
  return tailor::BuildSeveral(
      "tailor_graph_lstm", graph, {{"y", y}, {"h", h}, {"c", c}}, [&]() -> absl::StatusOr<Values> {
        TAILOR_ASSIGN_OR_RETURN(auto results, Append(graph, "lstm", tailor::Lstm, x, w, r, options));
        return Values{results.y, results.h, results.c};
      });
}
