#include "tests/support/random_graph_inputs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tests/support/reference_shapes.h"
#include "tests/support/reference_symbols.h"

namespace tailor {
namespace {

using reference::Array;
using reference::Dims;

// What one evaluation may cost, in elements computed or multiplied.
constexpr double kMostWork = 200000;
constexpr double kMostLargeWork = 3000000;

// In floating point, for the elements of a tensor may be more than 64 bits count. Regions are taken to be entered a few
// times.
double WorkOf(const Graph& graph, const std::map<Value, Dims>& dims) {
  double work = 0;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    double own = 0;
    for (size_t r = 0; r < node.results.size(); ++r) {
      double elements = 1;
      if (const auto it = dims.find({id, static_cast<int32_t>(r)}); it != dims.end()) {
        for (int64_t dim : it->second) elements *= static_cast<double>(dim);
      }
      own += elements;
    }
    if (node.op == OpKind::kDot && dims.contains(node.operands[0])) {
      const Dims& lhs = dims.at(node.operands[0]);
      own *= static_cast<double>(lhs[lhs.size() - (node.i64("transpose_lhs") != 0 ? 2 : 1)]);
    }
    for (const Region& region : node.regions) own *= static_cast<double>(1 + region.graph->nodes().size());
    work += own;
  }
  return work;
}

int64_t DrawDimSize(const SymbolInfo& info, ShapeKind kind, int64_t common, std::mt19937_64& random) {
  static constexpr int64_t kSmall[] = {1, 2, 3, 4, 5, 7, 8};
  static constexpr int64_t kWide[] = {1, 2, 15, 16, 17, 31, 32, 33, 48, 64, 67, 96, 130};
  static constexpr int64_t kLarge[] = {1, 2, 3, 5, 16, 129, 515, 1024, 2500, 5001};
  const auto pick = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
  int64_t value = kind == ShapeKind::kWide ? kWide[pick(std::size(kWide))] : kSmall[pick(std::size(kSmall))];
  if (kind == ShapeKind::kLarge) value = kLarge[pick(std::size(kLarge))];
  if (pick(100) < 45 && kind != ShapeKind::kLarge) value = common;
  if (kind == ShapeKind::kWide && !info.likely.empty() && pick(2) == 0) value = info.likely[pick(info.likely.size())];
  if (kind == ShapeKind::kWithOne && pick(3) == 0) value = 1;
  if (kind == ShapeKind::kWithZero && pick(4) == 0) value = 0;
  value = (value + info.multiple_of - 1) / info.multiple_of * info.multiple_of;
  while (value < info.min) value += info.multiple_of;
  return value;
}

// The kind asks for a value that is there, as far as the ranges let it.
bool IsOfKind(const Graph& graph, ShapeKind kind, const std::vector<int64_t>& symbols) {
  if (kind != ShapeKind::kWithOne && kind != ShapeKind::kWithZero) return true;
  const int64_t wanted = kind == ShapeKind::kWithOne ? 1 : 0;
  return std::count(symbols.begin(), symbols.end(), wanted) > 0;
}

// Symbols that an assumed equality gives as an expression of the others.
void SolveAssumed(const Graph& graph, std::vector<int64_t>* symbols) {
  for (const auto& [relation, a, b, what, assured] : graph.assumptions()) {
    if (relation != Assumption::Relation::kEqual) continue;
    const auto symbol = a.symbol() ? a.symbol() : b.symbol();
    const auto value = reference::EvaluateDim(a.symbol() ? b : a, *symbols);
    if (symbol && value.ok()) (*symbols)[*symbol] = *value;
  }
}

// Per node: the least dim size of the tables that it indexes, through views. One that only a run tells counts as 1.
std::map<NodeId, int64_t> TableDimSizes(const Graph& graph, const std::map<Value, Dims>& dims) {
  std::map<NodeId, int64_t> dim_sizes;
  const auto restrict = [&](NodeId node, int64_t dim_size) {
    auto [it, added] = dim_sizes.try_emplace(node, dim_size);
    if (!added) it->second = std::min(it->second, dim_size);
  };
  const auto dim_size_of = [&](Value table, int64_t dim) {
    const auto it = dims.find(table);
    return it == dims.end() ? 1 : it->second[dim];
  };
  for (NodeId id = static_cast<NodeId>(graph.nodes().size()) - 1; id >= 0; --id) {
    const Node& node = graph.node(id);
    if (node.op == OpKind::kGather) {
      restrict(node.operands[1].node, dim_size_of(node.operands[0], node.i64("axis")));
    }
    if (node.op == OpKind::kScatter) {
      const int64_t depth = *graph.type(node.operands[1]).shape.back().constant();
      for (int64_t d = 0; d < depth; ++d) restrict(node.operands[1].node, dim_size_of(node.operands[0], d));
    }
    const bool moves = InfoOf(node.op).fusion == FusionClass::kView || node.op == OpKind::kConcat;
    if (auto it = dim_sizes.find(id); it != dim_sizes.end() && (moves || node.op == OpKind::kGather)) {
      for (Value operand : node.operands) {
        if (graph.type(operand).dtype == node.results[0].dtype) restrict(operand.node, it->second);
      }
    }
  }
  return dim_sizes;
}

long double DrawFloat(DType dtype, std::mt19937_64& random) {
  const auto choice = random() % 100;
  const long double unit = static_cast<long double>(random() % (1u << 24)) / (1u << 24);
  if (choice < 6) return static_cast<long double>(random() % 9) - 4;
  if (choice < 8) return random() % 2 == 0 ? 0.0L : -0.0L;
  return reference::RoundTo(dtype, 4 * unit - 2);
}

long double DrawSpecial(DType dtype, std::mt19937_64& random) {
  const reference::FloatFormat format = reference::FormatOf(dtype);
  const long double values[] = {INFINITY, NAN, format.Largest(), format.LeastNormal(), format.LeastSubnormal(), 100};
  const long double value = values[random() % std::size(values)];
  return reference::RoundTo(dtype, random() % 2 == 0 ? value : -value);
}

long double DrawInteger(DType dtype, std::mt19937_64& random) {
  if (dtype == DType::kBool) return static_cast<long double>(random() % 2);
  const auto choice = random() % 20;
  if (choice == 0) return reference::WrapTo(dtype, static_cast<__int128>(random()));
  if (choice == 1) return random() % 2 == 0 ? reference::LeastOf(dtype) : reference::MostOf(dtype);
  const auto small = static_cast<__int128>(random() % 13) - 6;
  return reference::WrapTo(dtype, IsSigned(dtype) || small >= 0 ? small : -small);
}

}  // namespace

std::optional<std::vector<int64_t>> DrawSymbols(const Graph& graph, ShapeKind kind, std::mt19937_64& random) {
  const std::vector<std::optional<NodeId>> sources = reference::SymbolSources(graph);
  for (int attempt = 0; attempt < 400; ++attempt) {
    // Dim sizes shrink as draws fail, in case their product was too large.
    const bool small = kind == ShapeKind::kWide && attempt > 200;
    const ShapeKind drawn = small ? ShapeKind::kSmall : kind;
    const int64_t common = DrawDimSize(SymbolInfo{}, drawn, 4, random);
    std::vector<int64_t> symbols;
    for (size_t i = 0; i < sources.size(); ++i) {
      const SymbolInfo& info = graph.symbol(static_cast<SymbolId>(i));
      symbols.push_back(sources[i] ? reference::kUnbound : DrawDimSize(info, drawn, common, random));
    }
    SolveAssumed(graph, &symbols);
    if (!IsOfKind(graph, kind, symbols)) continue;
    const auto dims = reference::GraphDims(graph, symbols);
    const double most = kind == ShapeKind::kLarge ? kMostLargeWork : kMostWork;
    if (dims.ok() && WorkOf(graph, *dims) <= most) return symbols;
  }
  return std::nullopt;
}

Array DrawArray(DType dtype, std::vector<int64_t> dims, uint64_t seed) {
  std::mt19937_64 random(seed);
  Array array{dtype, std::move(dims), {}};
  array.elements.resize(reference::CountOf(array.dims));
  for (reference::Element& element : array.elements) {
    element.value = IsFloat(dtype) ? DrawFloat(dtype, random) : DrawInteger(dtype, random);
  }
  return array;
}

std::vector<Array> DrawInputs(const Graph& graph, const std::vector<int64_t>& symbols, uint64_t seed, bool special) {
  const std::map<Value, Dims> dims = *reference::GraphDims(graph, symbols);
  const std::map<NodeId, int64_t> dim_sizes = TableDimSizes(graph, dims);
  std::vector<Array> inputs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const NodeId id = graph.inputs()[i];
    Array array = DrawArray(graph.type({id, 0}).dtype, dims.at({id, 0}), seed * 1000 + i);
    std::mt19937_64 random(seed * 1000 + 500 + i);
    for (reference::Element& element : array.elements) {
      if (special && IsFloat(array.dtype) && random() % 10 == 0) element.value = DrawSpecial(array.dtype, random);
    }
    if (auto it = dim_sizes.find(id); it != dim_sizes.end() && it->second > 0) {
      for (reference::Element& element : array.elements) {
        element.value = static_cast<long double>(random() % (2 * it->second)) - static_cast<long double>(it->second);
      }
    }
    inputs.push_back(std::move(array));
  }
  return inputs;
}

}  // namespace tailor
