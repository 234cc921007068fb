// Graphs that a builder makes, run by the reference evaluator on concrete inputs.
#ifndef TAILOR_TESTS_GRAPH_EVALUATED_BUILDER_H_
#define TAILOR_TESTS_GRAPH_EVALUATED_BUILDER_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/text.h"
#include "graph/verifier.h"
#include "tests/support/reference_evaluator.h"
#include "tests/support/reference_shapes.h"

namespace tailor {

inline reference::Array Numbers(DType dtype, std::vector<int64_t> dims, const std::vector<long double>& values) {
  reference::Array array{dtype, std::move(dims), {}};
  for (long double value : values) array.elements.push_back({value});
  return array;
}

// "[2, 2] {1, 2, 3, 4}"; an unknown element is ?.
inline std::string Text(const reference::Array& array) {
  auto element = [](std::string* out, const reference::Element& e) {
    absl::StrAppend(out, e.known() ? absl::StrCat(static_cast<double>(e.value)) : "?");
  };
  return absl::StrCat("[", absl::StrJoin(array.dims, ", "), "] {", absl::StrJoin(array.elements, ", ", element), "}");
}

// The graph `graph @g(<header>) {...}` whose outputs are the values that `build` appends; verified, and read back from
// its text. A failure of `build` is a failure of the test.
template <typename Build>
Graph BuiltGraph(const std::string& header, Build build) {
  Graph graph = *ParseGraph(absl::StrCat("graph @g(", header, ") { return }"));
  absl::StatusOr<std::vector<Value>> results = build(graph);
  EXPECT_TRUE(results.ok()) << results.status();
  if (!results.ok()) return graph;
  for (size_t i = 0; i < results->size(); ++i) EXPECT_TRUE(graph.AddOutput(absl::StrCat("y", i), (*results)[i]).ok());
  EXPECT_EQ(VerifyGraph(graph), absl::OkStatus());
  const std::string text = graph.ToText();
  auto parsed = ParseGraph(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status() << "\n" << text;
  if (!parsed.ok()) return graph;
  EXPECT_EQ(parsed->ToText(), text);
  return graph;
}

// The outputs of a graph for inputs; `symbols` has those that the inputs give.
inline std::vector<reference::Array> Evaluated(const Graph& graph, std::vector<int64_t> symbols,
                                               const std::vector<reference::Array>& inputs) {
  symbols.resize(graph.symbols().size(), reference::kUnbound);
  const auto evaluation = reference::Evaluate(graph, symbols, inputs);
  EXPECT_TRUE(evaluation.ok()) << evaluation.status();
  if (!evaluation.ok()) return {};
  EXPECT_EQ(evaluation->undecided, "");
  EXPECT_EQ(absl::StrJoin(evaluation->faults, "; "), "");
  return evaluation->outputs;
}

}  // namespace tailor

#endif  // TAILOR_TESTS_GRAPH_EVALUATED_BUILDER_H_
