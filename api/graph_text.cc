// Glue of tailor/compiler.h: canonical texts of a graph, its dims and its shape facts.
#include "analysis/shape_facts.h"
#include "api/compiler_status.h"
#include "api/graph_handle.h"
#include "graph/status_macros.h"

namespace {

// `*text` is what `make` returns, kept in the graph until its next text call.
template <typename Make>
tailor_status* GiveText(const char* function, tailor_graph* graph, const char** text, Make make) {
  return tailor::AtBoundary([&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(tailor::CheckGraph(function, graph));
    TAILOR_RETURN_IF_ERROR(tailor::CheckPresent(function, "text", text));
    absl::StatusOr<std::string> made = make();
    TAILOR_RETURN_IF_ERROR(made.status());
    graph->text = *std::move(made);
    *text = graph->text.c_str();
    return absl::OkStatus();
  });
}

}  // namespace

tailor_status* tailor_graph_text(tailor_graph* graph, const char** text) {
  return GiveText("tailor_graph_text", graph, text,
                  [&]() -> absl::StatusOr<std::string> { return graph->graph.ToText(); });
}

tailor_status* tailor_dim_text(tailor_graph* graph, tailor_dim dim, const char** text) {
  return GiveText("tailor_dim_text", graph, text, [&]() -> absl::StatusOr<std::string> {
    TAILOR_ASSIGN_OR_RETURN(tailor::DimExpr found, tailor::FindDim(*graph, "tailor_dim_text", "dim", dim));
    return graph->graph.DimText(found);
  });
}

tailor_status* tailor_graph_facts_text(tailor_graph* graph, const char** text) {
  return GiveText("tailor_graph_facts_text", graph, text, [&]() -> absl::StatusOr<std::string> {
    TAILOR_ASSIGN_OR_RETURN(tailor::ShapeFacts facts, tailor::ShapeFacts::Collect(graph->graph));
    return facts.ToText();
  });
}
