// Glue of tailor/compiler.h: sorting, and selection of elements.
#include "api/graph_builders.h"
#include "graph/compaction.h"
#include "graph/sorting.h"
#include "graph/status_macros.h"

namespace {

using tailor::Value;
using Values = std::vector<Value>;

}  // namespace

tailor_status* tailor_graph_sort(tailor_graph* graph, tailor_value x, int64_t axis, int32_t descending,
                                 tailor_value* values, tailor_value* indices) {
  return tailor::BuildSeveral(
      "tailor_graph_sort", graph, {{"values", values}, {"indices", indices}}, [&]() -> absl::StatusOr<Values> {
        TAILOR_ASSIGN_OR_RETURN(Value operand, tailor::FindValue(*graph, "sort", "x", x));
        TAILOR_ASSIGN_OR_RETURN(auto sorted, tailor::Sort(graph->graph, operand, axis, descending != 0));
        return Values{sorted.values, sorted.indices};
      });
}

tailor_status* tailor_graph_top_k(tailor_graph* graph, tailor_value x, tailor_dim k, int64_t axis, int32_t largest,
                                  tailor_value* values, tailor_value* indices) {
  return tailor::BuildSeveral(
      "tailor_graph_top_k", graph, {{"values", values}, {"indices", indices}}, [&]() -> absl::StatusOr<Values> {
        TAILOR_ASSIGN_OR_RETURN(Value operand, tailor::FindValue(*graph, "top_k", "x", x));
        TAILOR_ASSIGN_OR_RETURN(tailor::DimExpr count, tailor::FindDim(*graph, "top_k", "k", k));
        TAILOR_ASSIGN_OR_RETURN(auto sorted, tailor::TopK(graph->graph, operand, count, axis, largest != 0));
        return Values{sorted.values, sorted.indices};
      });
}

tailor_status* tailor_graph_compact(tailor_graph* graph, tailor_value x, tailor_value mask, tailor_value* out) {
  return tailor::BuildOne("tailor_graph_compact", graph, out, [&]() -> absl::StatusOr<Value> {
    TAILOR_ASSIGN_OR_RETURN(Value rows, tailor::FindValue(*graph, "compact", "x", x));
    TAILOR_ASSIGN_OR_RETURN(Value kept, tailor::FindValue(*graph, "compact", "mask", mask));
    return tailor::Compact(graph->graph, rows, kept);
  });
}

tailor_status* tailor_graph_nonzero(tailor_graph* graph, tailor_value x, tailor_value* out) {
  return tailor::BuildOne("tailor_graph_nonzero", graph, out, [&]() -> absl::StatusOr<Value> {
    TAILOR_ASSIGN_OR_RETURN(Value operand, tailor::FindValue(*graph, "nonzero", "x", x));
    return tailor::NonZero(graph->graph, operand);
  });
}

tailor_status* tailor_graph_unique(tailor_graph* graph, tailor_value x, const int64_t* axis, int32_t sorted,
                                   tailor_value* values, tailor_value* indices, tailor_value* inverse,
                                   tailor_value* counts) {
  return tailor::BuildSeveral(
      "tailor_graph_unique", graph,
      {{"values", values}, {"indices", indices}, {"inverse", inverse}, {"counts", counts}},
      [&]() -> absl::StatusOr<Values> {
        TAILOR_ASSIGN_OR_RETURN(Value operand, tailor::FindValue(*graph, "unique", "x", x));
        const std::optional<int64_t> along = axis == nullptr ? std::nullopt : std::optional(*axis);
        TAILOR_ASSIGN_OR_RETURN(auto distinct, tailor::Unique(graph->graph, operand, along, sorted != 0));
        return Values{distinct.values, distinct.indices, distinct.inverse, distinct.counts};
      });
}
