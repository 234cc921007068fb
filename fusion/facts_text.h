// A report of the known facts of a graph's dim sizes, for people.
#ifndef TAILOR_FUSION_FACTS_TEXT_H_
#define TAILOR_FUSION_FACTS_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// ShapeFacts::ToText of the graph, then of each region and continuation, under a line that names it: "body of while
// %y", "-- continuation after data-dependent N". Errors: the same as those of a compilation.
absl::StatusOr<std::string> FactsText(const Graph& graph);

}  // namespace tailor

#endif  // TAILOR_FUSION_FACTS_TEXT_H_
