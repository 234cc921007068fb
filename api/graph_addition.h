// Transactional additions to a graph: a function that fails has added nothing.
#ifndef TAILOR_API_GRAPH_ADDITION_H_
#define TAILOR_API_GRAPH_ADDITION_H_

#include <cstddef>
#include <utility>

#include "api/compiler_status.h"
#include "api/graph_handle.h"
#include "graph/status_macros.h"

namespace tailor {

// Reverts everything added to a graph since construction, unless Keep() is called.
class GraphAddition {
 public:
  explicit GraphAddition(tailor_graph& graph)
      : graph_(graph), mark_(graph.graph.mark()), values_(graph.values.size()) {}
  GraphAddition(const GraphAddition&) = delete;
  ~GraphAddition() {
    if (kept_) return;
    graph_.graph.RevertTo(mark_);
    graph_.values.erase(graph_.values.begin() + static_cast<ptrdiff_t>(values_), graph_.values.end());
  }
  void Keep() { kept_ = true; }

 private:
  tailor_graph& graph_;
  const Graph::Mark mark_;
  const size_t values_;
  bool kept_ = false;
};

// Runs `body`, which returns an absl::Status and may add to `graph`. If `graph` is invalid, or `body` fails or throws,
// the graph is unchanged.
template <typename Body>
tailor_status* AddToGraph(const char* function, tailor_graph* graph, Body&& body) {
  return AtBoundary([&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(CheckGraph(function, graph));
    const Writer<tailor_graph> writer(*graph);
    TAILOR_RETURN_IF_ERROR(CheckHeld(function, *graph, writer));
    GraphAddition addition(*graph);
    TAILOR_RETURN_IF_ERROR(std::forward<Body>(body)());
    addition.Keep();
    return absl::OkStatus();
  });
}

}  // namespace tailor

#endif  // TAILOR_API_GRAPH_ADDITION_H_
