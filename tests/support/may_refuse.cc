#include "tests/support/may_refuse.h"

#include <random>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "tests/support/random_graph_inputs.h"
#include "tests/support/reference_evaluator.h"

namespace tailor {
namespace {

void AddRegions(const Graph& graph, std::set<const Graph*>* regions) {
  for (const Node& node : graph.nodes()) {
    for (const Region& region : node.regions) {
      regions->insert(region.graph.get());
      AddRegions(*region.graph, regions);
    }
  }
}

}  // namespace

bool MayRefuse(const Graph& graph, const absl::Status& status, const std::vector<std::vector<int64_t>>& shapes,
               uint64_t seed) {
  if (!absl::IsInvalidArgument(status)) return false;
  bool agree = false;
  std::set<const Graph*> idle;
  AddRegions(graph, &idle);
  for (const std::vector<int64_t>& symbols : shapes) {
    const auto run = reference::Evaluate(graph, symbols, DrawInputs(graph, symbols, seed++, /*special=*/false));
    agree = agree || run.ok();
    for (size_t r = 0; run.ok() && r < run->entered.size(); ++r) idle.erase(run->entered[r]);
  }
  const bool of_region = absl::StartsWith(status.message(), "while %") || absl::StartsWith(status.message(), "if %");
  return !agree || (of_region && !idle.empty());
}

bool MayRefuse(const Graph& graph, const absl::Status& status, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<int64_t>> shapes;
  for (ShapeKind kind : {ShapeKind::kSmall, ShapeKind::kWithZero, ShapeKind::kWithOne}) {
    if (auto symbols = DrawSymbols(graph, kind, random)) shapes.push_back(*std::move(symbols));
  }
  return MayRefuse(graph, status, shapes, seed);
}

}  // namespace tailor
