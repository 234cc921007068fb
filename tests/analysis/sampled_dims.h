// Random expressions and values that satisfy a graph's facts, for property tests.
#ifndef TAILOR_TESTS_ANALYSIS_SAMPLED_DIMS_H_
#define TAILOR_TESTS_ANALYSIS_SAMPLED_DIMS_H_

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "analysis/shape_facts.h"
#include "graph/graph.h"
#include "tests/analysis/parsed_facts.h"

namespace tailor {

// Graphs whose facts are of every kind; each has few symbols and small ranges.
const std::vector<std::string>& SampleGraphs();

// The value of `e` read literally: none where it has none, or where a bcast meets dim sizes that do not broadcast.
std::optional<int64_t> ValueOf(const DimExpr& e, absl::Span<const int64_t> symbols);

// False where a side has no value.
bool Holds(ShapeCheck::Relation relation, std::optional<int64_t> lhs, std::optional<int64_t> rhs);

// Calls `visit` with every assignment of values in [0, limit] to the symbols that have a binding; the others
// get the value of what they equal.
void ForEachAssignment(const ParsedFacts& f, int64_t limit,
                       const std::function<void(absl::Span<const int64_t>)>& visit);

// No input dim is negative.
bool InputsExist(const Graph& graph, absl::Span<const int64_t> symbols);

// All runtime checks pass, evaluated as generated code does.
bool ChecksPass(const ParsedFacts& f, absl::Span<const int64_t> symbols);

// A random expression, and shapes of a graph that tensors can have and at which all checks pass.
struct DimCase {
  DimExpr e;
  std::vector<std::vector<int64_t>> shapes;  // a few, by symbol
};

// Calls `visit` with many random expressions over the symbols of the sample graphs and of random graphs.
void ForEachDimCase(unsigned seed, const std::function<void(const ParsedFacts&, const DimCase&)>& visit);

DimExpr RandomDim(std::mt19937& random, int symbols, int depth);

}  // namespace tailor

#endif  // TAILOR_TESTS_ANALYSIS_SAMPLED_DIMS_H_
