// Glue of tailor/compiler.h: custom operators.
#include "graph/custom.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/compiler_arguments.h"
#include "api/graph_addition.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

constexpr const char* kFunction = "tailor_graph_custom";

absl::StatusOr<CustomOp> ReadOperator(const char* name, size_t name_size, const tailor_custom_options* options) {
  CustomOp op;
  TAILOR_ASSIGN_OR_RETURN(op.name, ReadString(kFunction, "name", name, name_size));
  if (op.name.empty()) return absl::InvalidArgumentError(absl::StrCat(kFunction, ": name is empty"));
  TAILOR_ASSIGN_OR_RETURN(const tailor_custom_options read,
                          OptionsOrDefaults(kFunction, options, tailor_custom_options_init));
  TAILOR_ASSIGN_OR_RETURN(op.attributes,
                          ReadString(kFunction, "options.attributes", read.attributes, read.attributes_size));
  op.pure = read.impure == 0;
  return op;
}

absl::StatusOr<std::vector<CustomResult>> ReadResults(const tailor_graph& graph, const tailor_custom_result* results,
                                                      size_t count) {
  if (count > 0) TAILOR_RETURN_IF_ERROR(CheckPresent(kFunction, "results", results));
  std::vector<CustomResult> read;
  for (size_t i = 0; i < count; ++i) {
    const std::string result = absl::StrCat("results[", i, "]");
    CustomResult& to = read.emplace_back();
    TAILOR_ASSIGN_OR_RETURN(to.type.dtype, ReadDType(kFunction, result + ".dtype", results[i].dtype));
    TAILOR_ASSIGN_OR_RETURN(to.type.shape,
                            FindDims(graph, kFunction, result + ".dims", results[i].dims, results[i].rank));
    to.counted_dim = results[i].counted_dim;
  }
  return read;
}

absl::StatusOr<std::vector<Value>> ReadOperands(const tailor_graph& graph, const tailor_value* operands, size_t count) {
  if (count > 0) TAILOR_RETURN_IF_ERROR(CheckPresent(kFunction, "operands", operands));
  std::vector<Value> values;
  for (size_t i = 0; i < count; ++i) {
    TAILOR_ASSIGN_OR_RETURN(values.emplace_back(),
                            FindValue(graph, kFunction, absl::StrCat("operands[", i, "]"), operands[i]));
  }
  return values;
}

}  // namespace
}  // namespace tailor

tailor_status* tailor_graph_custom(tailor_graph* graph, const char* name, size_t name_size,
                                   const tailor_value* operands, size_t operand_count,
                                   const tailor_custom_result* results, size_t result_count,
                                   const tailor_custom_options* options, tailor_value* out) {
  using tailor::kFunction;
  return tailor::AddToGraph(kFunction, graph, [&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(tailor::CheckPresent(kFunction, "out", out));
    TAILOR_ASSIGN_OR_RETURN(const tailor::CustomOp op, tailor::ReadOperator(name, name_size, options));
    TAILOR_ASSIGN_OR_RETURN(const auto values, tailor::ReadOperands(*graph, operands, operand_count));
    TAILOR_ASSIGN_OR_RETURN(const auto types, tailor::ReadResults(*graph, results, result_count));
    TAILOR_ASSIGN_OR_RETURN(const auto made, tailor::Custom(graph->graph, op, values, types));
    std::vector<tailor_value> handles;
    for (const tailor::Value value : made) handles.push_back(tailor::NewValue(*graph, value));
    std::copy(handles.begin(), handles.end(), out);
    return absl::OkStatus();
  });
}
