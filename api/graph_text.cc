// Glue of tailor/compiler.h: canonical texts of a graph and back, its dims and its shape facts.
#include "api/compiler_arguments.h"
#include "api/compiler_status.h"
#include "api/graph_handle.h"
#include "fusion/facts_text.h"
#include "graph/status_macros.h"
#include "graph/text.h"

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

tailor_status* tailor_graph_parse(const char* text, size_t text_size, tailor_graph** out) {
  return tailor::AtBoundary([&]() -> absl::Status {
    constexpr const char* kFunction = "tailor_graph_parse";
    TAILOR_RETURN_IF_ERROR(tailor::CheckPresent(kFunction, "out", out));
    TAILOR_ASSIGN_OR_RETURN(std::string given, tailor::ReadString(kFunction, "text", text, text_size));
    TAILOR_ASSIGN_OR_RETURN(tailor::Graph graph, tailor::ParseGraph(given));
    *out = new tailor_graph(std::move(graph));
    return absl::OkStatus();
  });
}

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
  return GiveText("tailor_graph_facts_text", graph, text, [&] { return tailor::FactsText(graph->graph); });
}
