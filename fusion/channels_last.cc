#include "fusion/channels_last.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "fusion/graph_rebuild.h"
#include "fusion/rearrange_constants.h"
#include "fusion/node_class.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// With fewer channels the runs of a window are shorter than a vector.
constexpr int64_t kLeastChannels = 16;

// [batch, channels, positions] <-> [batch, positions, channels].
const std::vector<int64_t>& Swap() {
  static const auto* const kSwap = new std::vector<int64_t>{0, 2, 1};
  return *kSwap;
}

bool IsTranspose(const Node& node, const std::vector<int64_t>& permutation) {
  return node.op == OpKind::kTranspose && node.i64s("permutation") == permutation;
}

bool IsOne(const DimExpr& dim) { return dim == DimExpr(1); }

// [batch, 1, positions, channels] transposed and reshaped to [batch, channels, positions]: a convolution's result.
bool IsConvResult(const Graph& graph, const Node& node) {
  if (node.op != OpKind::kReshape || node.results[0].shape.size() != 3) return false;
  const Node& moved = graph.node(node.operands[0].node);
  if (!IsTranspose(moved, {0, 1, 3, 2})) return false;
  const Shape &from = moved.results[0].shape, &to = node.results[0].shape;
  return IsOne(from[1]) && from[0] == to[0] && from[2] == to[1];
}

// A convolution over one dim: dot(reshape(transpose(window(image))), weights).
struct Convolution {
  NodeId window, weights;
  int64_t channels, taps;
  std::vector<NodeId> between;  // nodes from the leaves to the window: to be computed channels last
};

std::optional<int64_t> SizeOfAxis(const Graph& graph, Value v, size_t axis) {
  return graph.type(v).shape[axis].constant();
}

std::optional<Convolution> ConvolutionOf(const Graph& graph, NodeId id) {
  const Node& dot = graph.node(id);
  if (dot.op != OpKind::kDot || dot.i64("transpose_lhs") == 0 || dot.i64("transpose_rhs") == 0) return std::nullopt;
  const Node& patches = graph.node(dot.operands[0].node);
  if (patches.op != OpKind::kReshape || patches.results[0].shape.size() != 4 || !IsOne(patches.results[0].shape[1]))
    return std::nullopt;
  const Node& moved = graph.node(patches.operands[0].node);
  if (!IsTranspose(moved, {0, 1, 3, 2})) return std::nullopt;
  const Node& window = graph.node(moved.operands[0].node);
  if (window.op != OpKind::kWindow || window.i64s("axes") != std::vector<int64_t>{2}) return std::nullopt;
  const Shape& windows = window.results[0].shape;
  if (windows.size() != 4 || windows[0] != patches.results[0].shape[0]) return std::nullopt;
  NodeId weights = dot.operands[1].node;
  while (graph.node(weights).op == OpKind::kReshape) weights = graph.node(weights).operands[0].node;
  const Shape& matrix = graph.type(dot.operands[1]).shape;
  if (graph.node(weights).op != OpKind::kConstant || matrix.size() != 3 || !IsOne(matrix[0])) return std::nullopt;
  const std::optional<int64_t> channels = SizeOfAxis(graph, window.operands[0], 1);
  const std::optional<int64_t> taps = SizeOfAxis(graph, moved.operands[0], 3);
  if (!channels || *channels < kLeastChannels || !taps || matrix[2] != DimExpr(*channels * *taps)) return std::nullopt;
  return Convolution{moved.operands[0].node, weights, *channels, *taps, {}};
}

// Chooses the convolutions.
class Choice {
 public:
  explicit Choice(const Graph& graph) : graph_(graph), users_(graph.nodes().size()), chosen_(graph.nodes().size()) {
    for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
      for (Value operand : graph.node(id).operands) users_[operand.node].push_back(id);
      std::optional<Convolution> found = ConvolutionOf(graph, id);
      if (found && Trace(*found)) convolutions_.emplace(id, *std::move(found));
    }
    for (const Output& output : graph.outputs()) users_[output.value.node].push_back(-1);
    do {
      std::fill(chosen_.begin(), chosen_.end(), false);
      for (const auto& [dot, c] : convolutions_) {
        for (NodeId id : c.between) chosen_[id] = true;
        chosen_[c.window] = true;
      }
    } while (std::erase_if(convolutions_, [&](const auto& entry) { return !OthersAgree(entry.second); }) > 0);
  }

  // Whether `id` is computed channels last, or is the windows of such a value.
  bool chosen(NodeId id) const { return chosen_[id]; }
  // By dot.
  const std::map<NodeId, Convolution>& convolutions() const { return convolutions_; }

 private:
  // Whether the image [batch, channels, positions] is channels last in memory. Sets `between`.
  bool Trace(Convolution& c) const {
    std::set<NodeId> seen;
    std::vector<Value> pending = {graph_.node(c.window).operands[0]};
    while (!pending.empty()) {
      const Value v = pending.back();
      pending.pop_back();
      const Node& node = graph_.node(v.node);
      if (IsTranspose(node, Swap()) || !seen.insert(v.node).second) continue;
      c.between.push_back(v.node);
      if (IsConvResult(graph_, node)) continue;
      if (node.op == OpKind::kPad) {
        pending.push_back(node.operands[0]);
        continue;
      }
      if (ClassOf(node) != FusionClass::kElementwise) return false;
      const size_t before = pending.size();
      for (Value operand : node.operands) {
        if (IsSmall(operand)) continue;
        if (graph_.type(operand).shape != node.results[0].shape) return false;
        pending.push_back(operand);
      }
      if (pending.size() == before) return false;  // of small operands only
    }
    return true;
  }

  // A scalar, or an operand that is broadcast along channels or positions: a view transposes it.
  bool IsSmall(Value v) const {
    const Shape& shape = graph_.type(v).shape;
    return shape.empty() || (shape.size() == 3 && (IsOne(shape[1]) || IsOne(shape[2])));
  }

  // Whether nobody else reads the nodes to rewrite as [batch, channels, positions].
  bool OthersAgree(const Convolution& c) const {
    return std::all_of(c.between.begin(), c.between.end(), [&](NodeId id) {
      if (graph_.node(id).op == OpKind::kReshape) return true;
      return std::all_of(users_[id].begin(), users_[id].end(), [&](NodeId user) {
        return user >= 0 && (chosen_[user] || IsTranspose(graph_.node(user), Swap()));
      });
    });
  }

  const Graph& graph_;
  std::vector<std::vector<NodeId>> users_;  // -1: an output
  std::vector<bool> chosen_;
  std::map<NodeId, Convolution> convolutions_;
};

class Rewriter {
 public:
  explicit Rewriter(const Graph& graph) : choice_(graph) {}

  bool empty() const { return choice_.convolutions().empty(); }

  absl::StatusOr<std::optional<Value>> operator()(const NodeRewrite& r) {
    if (const auto found = choice_.convolutions().find(r.id); found != choice_.convolutions().end()) {
      TAILOR_ASSIGN_OR_RETURN(const Value product, Multiply(r, found->second));
      return product;
    }
    if (!choice_.chosen(r.id) || r.node().op == OpKind::kWindow) return std::nullopt;
    TAILOR_ASSIGN_OR_RETURN(const Value last, ChannelsLast(r));
    TAILOR_ASSIGN_OR_RETURN(const Value swapped, Swapped(r.to, last));
    return swapped;
  }

 private:
  static absl::StatusOr<Value> Append(Graph& to, OpKind op, absl::Span<const Value> operands, Attributes attributes) {
    TAILOR_ASSIGN_OR_RETURN(const NodeId id, to.Append(op, operands, std::move(attributes)));
    return Value{id, 0};
  }

  // `v` with its last two dims swapped. Undoes a transpose.
  static absl::StatusOr<Value> Swapped(Graph& to, Value v) {
    const Node& node = to.node(v.node);
    if (IsTranspose(node, Swap())) return node.operands[0];
    const Shape shape = node.results[v.result].shape;
    if (IsOne(shape[1]) || IsOne(shape[2]))
      return Append(to, OpKind::kReshape, {v}, {{"shape", Shape{shape[0], shape[2], shape[1]}}});
    return Append(to, OpKind::kTranspose, {v}, {{"permutation", Swap()}});
  }

  static absl::StatusOr<Value> ChannelsLast(const NodeRewrite& r) {
    const Shape& shape = r.node().results[0].shape;
    const Shape last = {shape[0], shape[2], shape[1]};
    if (r.node().op == OpKind::kReshape) {
      const Value product = r.to.node(r.operands[0].node).operands[0];
      return AppendInPlace(r, OpKind::kReshape, {product}, {{"shape", last}});
    }
    std::vector<Value> operands;
    for (Value operand : r.operands) {
      const bool moves = r.to.type(operand).shape.size() == 3;
      TAILOR_ASSIGN_OR_RETURN(operands.emplace_back(), moves ? Swapped(r.to, operand) : operand);
    }
    Attributes attributes = r.node().attributes;
    if (r.node().op == OpKind::kPad) {
      for (const char* name : {"low", "high"}) {
        Shape dims = r.node().dims(name);
        std::swap(dims[1], dims[2]);
        attributes[name] = std::move(dims);
      }
      std::vector<int64_t> interior = r.node().i64s("interior");
      if (!interior.empty()) std::swap(interior[1], interior[2]);
      attributes["interior"] = std::move(interior);
    }
    return AppendInPlace(r, r.node().op, operands, std::move(attributes));
  }

  // The convolution over windows [batch, positions, taps * channels].
  absl::StatusOr<Value> Multiply(const NodeRewrite& r, const Convolution& c) {
    Graph& to = r.to;
    const Node& patches = to.node(r.operands[0].node);
    const NodeId window = to.node(patches.operands[0].node).operands[0].node;
    Attributes windows = to.node(window).attributes;
    windows["axes"] = std::vector<int64_t>{1};
    TAILOR_ASSIGN_OR_RETURN(const Value image, Swapped(to, to.node(window).operands[0]));
    TAILOR_ASSIGN_OR_RETURN(const Value taken, Append(to, OpKind::kWindow, {image}, std::move(windows)));
    TAILOR_ASSIGN_OR_RETURN(const Value moved, Append(to, OpKind::kTranspose, {taken},
                                                      {{"permutation", std::vector<int64_t>{0, 1, 3, 2}}}));
    const Shape& result = r.node().results[0].shape;
    const Shape rows = {result[0], 1, result[2], c.channels * c.taps};
    TAILOR_ASSIGN_OR_RETURN(const Value lhs, Append(to, OpKind::kReshape, {moved}, {{"shape", rows}}));
    TAILOR_ASSIGN_OR_RETURN(const Value rhs, Weights(r, c, *result[3].constant()));
    Attributes attributes = r.node().attributes;
    attributes["transpose_lhs"] = int64_t{0};
    return AppendInPlace(r, OpKind::kDot, {lhs, rhs}, std::move(attributes));
  }

  // The weights [1, filters, channels * taps] as [1, filters, taps * channels]. Those of several convolutions are one
  // constant.
  absl::StatusOr<Value> Weights(const NodeRewrite& r, const Convolution& c, int64_t filters) {
    const Shape shape = {1, filters, c.channels * c.taps};
    if (c.taps == 1) return Append(r.to, OpKind::kReshape, {r.operands[1]}, {{"shape", shape}});
    const auto [entry, added] = weights_.try_emplace({c.weights, c.channels, c.taps});
    if (added) {
      TAILOR_ASSIGN_OR_RETURN(entry->second,
                              TransposeMatrices(r.from, c.weights, filters, c.channels, c.taps, shape, r.to));
    }
    return entry->second;
  }

  Choice choice_;
  std::map<std::tuple<NodeId, int64_t, int64_t>, Value> weights_;  // by constant, channels and taps
};

}  // namespace

absl::StatusOr<Graph> KeepChannelsLast(const Graph& graph, const ShapeFacts&) {
  Rewriter rewriter(graph);
  if (rewriter.empty()) return graph;
  return RebuildGraph(graph, {.rewrite = std::ref(rewriter)});
}

}  // namespace tailor
