// What is known of a graph's dim sizes, for people.
#ifndef TAILOR_FUSION_FACTS_TEXT_H_
#define TAILOR_FUSION_FACTS_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// ShapeFacts::ToText of the graph, then of each region under a line that names it: "body of while %y", "once data has
// told N". Fails as a compilation would.
absl::StatusOr<std::string> FactsText(const Graph& graph);

}  // namespace tailor

#endif  // TAILOR_FUSION_FACTS_TEXT_H_
