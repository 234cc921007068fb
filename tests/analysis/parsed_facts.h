// Graph text in, facts out; dims by their text.
#ifndef TAILOR_TESTS_ANALYSIS_PARSED_FACTS_H_
#define TAILOR_TESTS_ANALYSIS_PARSED_FACTS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "analysis/shape_facts.h"
#include "graph/graph.h"

namespace tailor {

// A graph that parses and whose facts do not contradict each other, else the test process ends with why.
struct ParsedFacts {
  explicit ParsedFacts(absl::string_view text);
  ParsedFacts(Graph g, ShapeFacts f) : graph(std::move(g)), facts(std::move(f)) {}

  DimExpr Dim(absl::string_view text) const;
  std::vector<DimExpr> Dims(const std::vector<std::string>& texts) const;
  std::string Canonical(absl::string_view text) const;
  bool Equal(absl::string_view a, absl::string_view b) const;
  Range RangeOf(absl::string_view text) const { return facts.RangeOf(Dim(text)); }

  Graph graph;
  ShapeFacts facts;
};

// The text of the facts, or the error of parsing or collecting.
std::string FactsText(absl::string_view graph_text);
// Messages of the checks alone, a line each.
std::string CheckMessages(absl::string_view graph_text);

}  // namespace tailor

#endif  // TAILOR_TESTS_ANALYSIS_PARSED_FACTS_H_
