#include "tests/analysis/parsed_facts.h"

#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "graph/text.h"

namespace tailor {
namespace {

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "%s\n", value.status().ToString().c_str());
  std::abort();
}

}  // namespace

ParsedFacts::ParsedFacts(absl::string_view text)
    : graph(OrDie(ParseGraph(text))), facts(OrDie(ShapeFacts::Collect(graph))) {}

DimExpr ParsedFacts::Dim(absl::string_view text) const { return OrDie(ParseDim(text, graph)); }

std::vector<DimExpr> ParsedFacts::Dims(const std::vector<std::string>& texts) const {
  std::vector<DimExpr> dims;
  for (const std::string& text : texts) dims.push_back(Dim(text));
  return dims;
}

std::string ParsedFacts::Canonical(absl::string_view text) const { return graph.DimText(facts.Canonical(Dim(text))); }

bool ParsedFacts::Equal(absl::string_view a, absl::string_view b) const { return facts.ProvablyEqual(Dim(a), Dim(b)); }

std::string FactsText(absl::string_view graph_text) {
  absl::StatusOr<Graph> graph = ParseGraph(graph_text);
  if (!graph.ok()) return std::string(graph.status().message());
  absl::StatusOr<ShapeFacts> facts = ShapeFacts::Collect(*graph);
  return facts.ok() ? facts->ToText() : std::string(facts.status().message());
}

std::string CheckMessages(absl::string_view graph_text) {
  std::string lines;
  ParsedFacts parsed(graph_text);
  for (const ShapeCheck& check : parsed.facts.checks()) absl::StrAppend(&lines, check.message, "\n");
  return lines;
}

}  // namespace tailor
