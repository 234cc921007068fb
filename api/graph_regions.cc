// Glue of tailor/compiler.h: loops and branches, whose regions are graphs of their own.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/graph_addition.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// Copies `region`: the caller's graph may grow further or be released. `graph` is the one that the call changes.
absl::StatusOr<Region> ReadRegion(const char* function, const tailor_graph* region, const tailor_graph* graph) {
  TAILOR_RETURN_IF_ERROR(CheckGraph(function, region));
  if (region == graph) return Region{std::make_shared<const Graph>(region->graph)};
  const Reader<tailor_graph> reader(*region);
  TAILOR_RETURN_IF_ERROR(CheckHeld(function, *region, reader));
  return Region{std::make_shared<const Graph>(region->graph)};
}

struct RegionOp {
  const char* function;
  OpKind op;
  const tailor_graph* first;
  const tailor_graph* second;
  const tailor_dim* shapes;
  size_t shape_count;
};

// `operands` are appended to `values`; `results` has `result_count` values.
absl::Status Append(tailor_graph* graph, const RegionOp& op, std::vector<Value> values, const tailor_value* operands,
                    size_t count, tailor_value* results, size_t result_count) {
  if (count > 0) TAILOR_RETURN_IF_ERROR(CheckPresent(op.function, "values", operands));
  if (result_count > 0) TAILOR_RETURN_IF_ERROR(CheckPresent(op.function, "results", results));
  for (size_t i = 0; i < count; ++i) {
    TAILOR_ASSIGN_OR_RETURN(Value value, FindValue(*graph, op.function, absl::StrCat("values[", i, "]"), operands[i]));
    values.push_back(value);
  }
  std::vector<Region> regions(2);
  TAILOR_ASSIGN_OR_RETURN(regions[0], ReadRegion(op.function, op.first, graph));
  TAILOR_ASSIGN_OR_RETURN(regions[1], ReadRegion(op.function, op.second, graph));
  const size_t made = regions[1].graph->outputs().size();
  if (made != result_count) {
    return absl::InvalidArgumentError(
        absl::StrCat(op.function, ": there is room for ", result_count, " results, but ", made, " are made"));
  }
  Attributes attributes;
  if (op.shape_count > 0) {
    TAILOR_RETURN_IF_ERROR(CheckPresent(op.function, "shapes", op.shapes));
    Shape shapes;
    for (size_t i = 0; i < op.shape_count; ++i) {
      TAILOR_ASSIGN_OR_RETURN(DimExpr dim, FindDim(*graph, op.function, absl::StrCat("shapes[", i, "]"), op.shapes[i]));
      shapes.push_back(std::move(dim));
    }
    attributes.emplace("shapes", std::move(shapes));
  }
  TAILOR_ASSIGN_OR_RETURN(NodeId node, graph->graph.Append(op.op, values, std::move(attributes), std::move(regions)));
  std::vector<tailor_value> handles;
  for (size_t i = 0; i < result_count; ++i) handles.push_back(NewValue(*graph, {node, static_cast<int32_t>(i)}));
  std::copy(handles.begin(), handles.end(), results);
  return absl::OkStatus();
}

}  // namespace
}  // namespace tailor

tailor_status* tailor_graph_while(tailor_graph* graph, const tailor_value* values, size_t count,
                                  const tailor_graph* condition, const tailor_graph* body, const tailor_dim* shapes,
                                  size_t shape_count, tailor_value* results) {
  constexpr const char* kFunction = "tailor_graph_while";
  return tailor::AddToGraph(kFunction, graph, [&]() -> absl::Status {
    return tailor::Append(graph, {kFunction, tailor::OpKind::kWhile, condition, body, shapes, shape_count}, {}, values,
                          count, results, count);
  });
}

tailor_status* tailor_graph_if(tailor_graph* graph, tailor_value condition, const tailor_value* values, size_t count,
                               const tailor_graph* then_branch, const tailor_graph* else_branch,
                               const tailor_dim* shapes, size_t shape_count, tailor_value* results,
                               size_t result_count) {
  constexpr const char* kFunction = "tailor_graph_if";
  return tailor::AddToGraph(kFunction, graph, [&]() -> absl::Status {
    TAILOR_ASSIGN_OR_RETURN(tailor::Value found, tailor::FindValue(*graph, kFunction, "condition", condition));
    return tailor::Append(graph, {kFunction, tailor::OpKind::kIf, then_branch, else_branch, shapes, shape_count},
                          {found}, values, count, results, result_count);
  });
}
