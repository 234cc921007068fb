#include "fusion/propagate_facts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "fusion/graph_rebuild.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// The region's symbols as expressions over the symbols around it, where known.
std::map<SymbolId, std::vector<DimExpr>> KnownSymbols(const Graph& graph, const Node& node, const Graph& region) {
  const bool loops = node.op == OpKind::kWhile;
  const size_t first = node.op == OpKind::kIf ? 1 : 0;
  std::vector<std::vector<bool>> stable;
  if (loops) stable = LoopInvariantDims(*node.regions[1].graph);
  std::map<SymbolId, std::vector<DimExpr>> known;
  for (size_t i = 0; i < region.inputs().size(); ++i) {
    const Shape& argument = region.type({region.inputs()[i], 0}).shape;
    const bool has_operand = first + i < node.operands.size();
    for (size_t d = 0; d < argument.size(); ++d) {
      const std::optional<SymbolId> symbol = argument[d].symbol();
      if (!symbol || (loops && !stable[i][d])) continue;
      if (has_operand) {
        known[*symbol].push_back(graph.type(node.operands[first + i]).shape[d]);
      } else if (const size_t dim_size = i - node.operands.size(); node.i64s("counts")[dim_size] < 0) {
        known[*symbol].push_back(node.dims("extents")[dim_size]);
      }
    }
  }
  return known;
}

// `info` narrowed by the facts of `dim_size`. If no value satisfies both, `info` is unchanged and the run-time check
// fails.
SymbolInfo Narrowed(SymbolInfo info, const ShapeFacts& facts, const DimExpr& dim_size) {
  const Range range = facts.RangeOf(dim_size);
  const int64_t min = std::max(info.min, range.min), max = std::min(info.max, range.max);
  const int64_t known = facts.LargestKnownDivisor(dim_size);
  const int64_t divisor = known % info.multiple_of == 0 && known <= max ? known : info.multiple_of;
  if (min > max || max - max % divisor < min) return info;
  info.min = min;
  info.max = max;
  info.multiple_of = divisor;
  if (info.likely.empty() && dim_size.symbol()) info.likely = facts.LikelyOf(*dim_size.symbol());
  std::erase_if(info.likely, [&](int64_t value) { return value < min || value > max || value % divisor != 0; });
  return info;
}

}  // namespace

std::vector<std::vector<bool>> LoopInvariantDims(const Graph& body) {
  std::vector<std::vector<bool>> stable;
  for (size_t i = 0; i < body.inputs().size(); ++i) {
    const Shape& before = body.type({body.inputs()[i], 0}).shape;
    const Shape& after = body.type(body.outputs()[i].value).shape;
    std::vector<bool>& dims = stable.emplace_back();
    for (size_t d = 0; d < before.size(); ++d) dims.push_back(before[d] == after[d]);
  }
  return stable;
}

std::map<SymbolId, std::vector<DimExpr>> SymbolsAround(const Graph& graph, NodeId id, int region) {
  return KnownSymbols(graph, graph.node(id), *graph.node(id).regions[region].graph);
}

absl::StatusOr<Graph> PropagateFacts(const Graph& graph, const ShapeFacts& facts, NodeId id, int region) {
  return PropagateFacts(graph, facts, id, *graph.node(id).regions[region].graph);
}

absl::StatusOr<Graph> PropagateFacts(const Graph& graph, const ShapeFacts& facts, NodeId id, const Graph& inside) {
  const Node& node = graph.node(id);
  const auto known = KnownSymbols(graph, node, inside);
  const auto settle = [&](SymbolId symbol) {
    const auto it = known.find(symbol);
    if (it == known.end()) return inside.symbol(symbol);
    return Narrowed(inside.symbol(symbol), facts, facts.Canonical(it->second.front()));
  };
  TAILOR_ASSIGN_OR_RETURN(Graph informed, RebuildGraph(inside, {.map_symbol = settle}));
  for (auto a = known.begin(); a != known.end(); ++a) {
    for (auto b = known.begin(); b != a; ++b) {
      if (!facts.ProvablyEqual(a->second.front(), b->second.front())) continue;
      TAILOR_RETURN_IF_ERROR(informed.AssumeEqual(DimExpr::Symbol(b->first), DimExpr::Symbol(a->first)));
      break;
    }
  }
  return informed;
}

}  // namespace tailor
