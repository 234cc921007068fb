#include "fusion/channels_last.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "fusion/graph_rebuild.h"
#include "fusion/image_layouts.h"
#include "fusion/rearrange_constants.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

class Rewriter {
 public:
  Rewriter(const Graph& graph, size_t rank) : layouts_(graph, rank), rank_(rank) {}

  bool empty() const { return layouts_.empty(); }

  absl::StatusOr<std::optional<Value>> operator()(const NodeRewrite& r) {
    if (const Convolution* convolution = layouts_.ConvolutionOf(r.id)) {
      TAILOR_ASSIGN_OR_RETURN(const Value product, Multiply(r, *convolution));
      return product;
    }
    if (layouts_.ReducesImage(r.id)) {
      TAILOR_ASSIGN_OR_RETURN(const Value reduced, ReducePositions(r));
      return reduced;
    }
    if (layouts_.JoinsPositions(r.id)) {
      TAILOR_ASSIGN_OR_RETURN(const Value joined, JoinPositions(r));
      return joined;
    }
    if (!layouts_.IsLast(r.id)) return std::nullopt;
    TAILOR_ASSIGN_OR_RETURN(const Value last, ChannelsLast(r));
    TAILOR_ASSIGN_OR_RETURN(const Value first, Moved(r.to, last, ToChannelsFirst(rank_)));
    return first;
  }

 private:
  static absl::StatusOr<Value> Append(Graph& to, OpKind op, absl::Span<const Value> operands, Attributes attributes) {
    TAILOR_ASSIGN_OR_RETURN(const NodeId id, to.Append(op, operands, std::move(attributes)));
    return Value{id, 0};
  }

  // `v` with permuted dims. Undoes a transpose.
  static absl::StatusOr<Value> Moved(Graph& to, Value v, const std::vector<int64_t>& permutation) {
    const Node& node = to.node(v.node);
    if (node.op == OpKind::kTranspose) {
      const std::vector<int64_t>& before = node.i64s("permutation");
      bool undoes = before.size() == permutation.size();
      for (size_t i = 0; undoes && i < permutation.size(); ++i)
        undoes = before[permutation[i]] == static_cast<int64_t>(i);
      if (undoes) return node.operands[0];
    }
    const Shape shape = node.results[v.result].shape;
    Shape moved;
    for (int64_t axis : permutation) moved.push_back(shape[axis]);
    if (KeepsOrder(shape, permutation)) return Append(to, OpKind::kReshape, {v}, {{"shape", moved}});
    return Append(to, OpKind::kTranspose, {v}, {{"permutation", permutation}});
  }

  // Whether the dims of more than one element keep their order.
  static bool KeepsOrder(const Shape& shape, const std::vector<int64_t>& permutation) {
    int64_t last = -1;
    for (int64_t axis : permutation) {
      if (shape[axis] == DimExpr(1)) continue;
      if (axis < last) return false;
      last = axis;
    }
    return true;
  }

  // `v`, which broadcasts to images, channels last.
  absl::StatusOr<Value> OperandChannelsLast(Graph& to, Value v) const {
    Shape shape = to.type(v).shape;
    if (shape.empty()) return v;
    if (shape.size() < rank_) {
      shape.insert(shape.begin(), rank_ - shape.size(), DimExpr(1));
      TAILOR_ASSIGN_OR_RETURN(v, Append(to, OpKind::kReshape, {v}, {{"shape", shape}}));
    }
    return Moved(to, v, ToChannelsLast(rank_));
  }

  absl::StatusOr<Value> ChannelsLast(const NodeRewrite& r) {
    const Shape& shape = r.node().results[0].shape;
    Shape last;
    for (int64_t axis : ToChannelsLast(rank_)) last.push_back(shape[axis]);
    if (layouts_.RepeatedImage(r.id) >= 0) return Repeated(r, last);
    if (r.node().op == OpKind::kReshape) return ConvResult(r, last);
    if (r.node().op == OpKind::kGather) return Gathered(r);
    if (const std::optional<WindowReduction> windows = layouts_.WindowReductionOf(r.id)) {
      return ReduceWindows(r, *windows);
    }
    std::vector<Value> operands;
    for (Value operand : r.operands) {
      TAILOR_ASSIGN_OR_RETURN(operands.emplace_back(), OperandChannelsLast(r.to, operand));
    }
    Attributes attributes = r.node().attributes;
    if (r.node().op == OpKind::kPad) MoveLists(r.node(), {"low", "high"}, "interior", attributes);
    if (r.node().op == OpKind::kSlice) MoveLists(r.node(), {"starts", "sizes"}, "steps", attributes);
    if (r.node().op == OpKind::kConcat) attributes["axis"] = static_cast<int64_t>(rank_) - 1;
    return AppendInPlace(r, r.node().op, operands, std::move(attributes));
  }

  // Lists of dims and one of integers, with an entry per dim, or empty.
  static void MoveLists(const Node& node, std::initializer_list<const char*> dims, const char* integers,
                        Attributes& attributes) {
    const auto moved = [](auto list) {
      if (!list.empty()) std::rotate(list.begin() + 1, list.begin() + 2, list.end());
      return list;
    };
    for (const char* name : dims) attributes[name] = moved(node.dims(name));
    attributes[integers] = moved(node.i64s(integers));
  }

  absl::StatusOr<Value> Gathered(const NodeRewrite& r) const {
    TAILOR_ASSIGN_OR_RETURN(const Value image, OperandChannelsLast(r.to, r.operands[0]));
    const int64_t axis = r.node().i64("axis");
    return AppendInPlace(r, OpKind::kGather, {image, r.operands[1]}, {{"axis", axis == 0 ? axis : axis - 1}});
  }

  absl::StatusOr<Value> Repeated(const NodeRewrite& r, const Shape& last) const {
    Graph& to = r.to;
    const Node broadcast = to.node(r.operands[0].node);
    const Value spread = to.node(broadcast.operands[0].node).operands[0];
    TAILOR_ASSIGN_OR_RETURN(const Value image, Moved(to, spread, ToChannelsLast(rank_)));
    Shape ones = to.type(image).shape, repeated = broadcast.results[0].shape;  // [batch, H, W, channels]
    ones.insert(ones.begin() + 2, 1);
    ones.insert(ones.begin() + 4, 1);
    std::rotate(repeated.begin() + 1, repeated.begin() + 2, repeated.end());
    TAILOR_ASSIGN_OR_RETURN(Value v, Append(to, OpKind::kReshape, {image}, {{"shape", ones}}));
    TAILOR_ASSIGN_OR_RETURN(v, Append(to, OpKind::kBroadcast, {v}, {{"shape", repeated}}));
    return AppendInPlace(r, OpKind::kReshape, {v}, {{"shape", last}});
  }

  // The products [batch, 1, positions, channels], perhaps with a bias, as images of shape `last`. The bias is added
  // after the view: all that a kernel computes of an image has the image's dims.
  static absl::StatusOr<Value> ConvResult(const NodeRewrite& r, const Shape& last) {
    Graph& to = r.to;
    const Value product = to.node(r.operands[0].node).operands[0];
    const Node sum = to.node(product.node);
    if (sum.op == OpKind::kAdd) {
      for (const int i : {0, 1}) {
        const Shape bias = to.type(sum.operands[1 - i]).shape;
        const bool is_vector =
            !bias.empty() && bias.back() == last.back() &&
            std::all_of(bias.begin(), bias.end() - 1, [](const DimExpr& d) { return d == DimExpr(1); });
        const bool is_dot = to.node(sum.operands[i].node).op == OpKind::kDot;
        if (!is_dot || !is_vector || to.type(sum.operands[i]).shape != sum.results[0].shape) continue;
        TAILOR_ASSIGN_OR_RETURN(const Value image, Append(to, OpKind::kReshape, {sum.operands[i]}, {{"shape", last}}));
        TAILOR_ASSIGN_OR_RETURN(const Value vector,
                                Append(to, OpKind::kReshape, {sum.operands[1 - i]}, {{"shape", Shape{last.back()}}}));
        return AppendInPlace(r, OpKind::kAdd, {image, vector}, sum.attributes);
      }
    }
    return AppendInPlace(r, OpKind::kReshape, {product}, {{"shape", last}});
  }

  // A pool, or a depthwise convolution.
  absl::StatusOr<Value> ReduceWindows(const NodeRewrite& r, const WindowReduction& windows) {
    Graph& to = r.to;
    Value taken = r.operands[0];
    if (windows.factors >= 0) taken = to.node(taken.node).operands[windows.window_operand];
    TAILOR_ASSIGN_OR_RETURN(Value reduced, WindowsOf(to, taken));
    if (windows.factors >= 0) {
      TAILOR_ASSIGN_OR_RETURN(const Value factors, Factors(r, windows));
      TAILOR_ASSIGN_OR_RETURN(reduced, Append(to, OpKind::kMul, {reduced, factors}, {}));
    }
    return AppendInPlace(r, r.node().op, {reduced}, r.node().attributes);
  }

  // Of an image that is channels last.
  std::vector<int64_t> AxesOfPositions() const {
    std::vector<int64_t> axes(rank_ - 2);
    std::iota(axes.begin(), axes.end(), 1);
    return axes;
  }

  // The windows [batch, channels, positions..., K...] as [batch, positions..., channels, K...].
  absl::StatusOr<Value> WindowsOf(Graph& to, Value windows) const {
    Attributes attributes = to.node(windows.node).attributes;
    attributes["axes"] = AxesOfPositions();
    TAILOR_ASSIGN_OR_RETURN(const Value image, Moved(to, to.node(windows.node).operands[0], ToChannelsLast(rank_)));
    return Append(to, OpKind::kWindow, {image}, std::move(attributes));
  }

  // The factors [channels, 1..., K...] as [channels, K...], with adjacent channels in memory.
  absl::StatusOr<Value> Factors(const NodeRewrite& r, const WindowReduction& windows) {
    Shape shape = windows.sizes;
    shape.push_back(windows.channels);
    TAILOR_ASSIGN_OR_RETURN(const Value constant,
                            Permuted(r, windows.factors, 1, windows.channels, windows.taps, shape));
    std::vector<int64_t> order(shape.size());
    std::iota(order.begin() + 1, order.end(), 0);
    order[0] = static_cast<int64_t>(shape.size()) - 1;
    return Append(r.to, OpKind::kTranspose, {constant}, {{"permutation", order}});
  }

  // The matmul of patches [batch, 1, positions, taps * channels].
  absl::StatusOr<Value> Multiply(const NodeRewrite& r, const Convolution& c) {
    Graph& to = r.to;
    const Shape& result = r.node().results[0].shape;
    const Shape rows = {result[0], 1, result[2], c.channels * c.taps};
    Value patches = to.node(r.operands[0].node).operands[0], rhs = r.operands[1];
    if (c.window < 0) {
      TAILOR_ASSIGN_OR_RETURN(patches, Moved(to, patches, ToChannelsLast(rank_)));
    } else {
      TAILOR_ASSIGN_OR_RETURN(const Value taken, WindowsOf(to, to.node(patches.node).operands[0]));
      std::vector<int64_t> order(2 * rank_ - 2);
      std::iota(order.begin(), order.end(), 0);
      std::rotate(order.begin() + rank_ - 1, order.begin() + rank_, order.end());
      TAILOR_ASSIGN_OR_RETURN(patches, Append(to, OpKind::kTranspose, {taken}, {{"permutation", order}}));
    }
    TAILOR_ASSIGN_OR_RETURN(const Value lhs, Append(to, OpKind::kReshape, {patches}, {{"shape", rows}}));
    if (c.window >= 0) {
      const int64_t filters = *result[3].constant();
      const Shape shape = {1, filters, c.channels * c.taps};
      if (c.taps == 1) {
        TAILOR_ASSIGN_OR_RETURN(rhs, Append(to, OpKind::kReshape, {rhs}, {{"shape", shape}}));
      } else {
        TAILOR_ASSIGN_OR_RETURN(rhs, Permuted(r, c.weights, filters, c.channels, c.taps, shape));
      }
    }
    Attributes attributes = r.node().attributes;
    attributes["transpose_lhs"] = int64_t{0};
    return AppendInPlace(r, OpKind::kDot, {lhs, rhs}, std::move(attributes));
  }

  // The mean and the like over all positions: [batch, channels], or [batch, channels, 1...].
  absl::StatusOr<Value> ReducePositions(const NodeRewrite& r) const {
    TAILOR_ASSIGN_OR_RETURN(const Value image, Moved(r.to, r.operands[0], ToChannelsLast(rank_)));
    Attributes attributes = r.node().attributes;
    attributes["axes"] = AxesOfPositions();
    attributes["keep_dims"] = int64_t{0};
    TAILOR_ASSIGN_OR_RETURN(const Value reduced, AppendInPlace(r, r.node().op, {image}, std::move(attributes)));
    const Shape& shape = r.node().results[0].shape;
    if (shape.size() == 2) return reduced;
    return Append(r.to, OpKind::kReshape, {reduced}, {{"shape", shape}});
  }

  // [batch, channels, positions...] as [batch, channels, all positions].
  absl::StatusOr<Value> JoinPositions(const NodeRewrite& r) const {
    TAILOR_ASSIGN_OR_RETURN(const Value image, Moved(r.to, r.operands[0], ToChannelsLast(rank_)));
    const Shape& shape = r.node().results[0].shape;
    TAILOR_ASSIGN_OR_RETURN(const Value rows,
                            Append(r.to, OpKind::kReshape, {image}, {{"shape", Shape{shape[0], shape[2], shape[1]}}}));
    return AppendInPlace(r, OpKind::kTranspose, {rows}, {{"permutation", ToChannelsLast(3)}});
  }

  // `count` matrices [channels, taps] of a constant, transposed. Those of several convolutions are one constant.
  absl::StatusOr<Value> Permuted(const NodeRewrite& r, NodeId constant, int64_t count, int64_t channels, int64_t taps,
                                 const Shape& shape) {
    std::vector<int64_t> dims;
    for (const DimExpr& dim : shape) dims.push_back(*dim.constant());
    const auto [entry, added] = permuted_.try_emplace({constant, count, taps, std::move(dims)});
    if (added) {
      TAILOR_ASSIGN_OR_RETURN(entry->second, TransposeMatrices(r.from, constant, count, channels, taps, shape, r.to));
    }
    return entry->second;
  }

  ImageLayouts layouts_;
  size_t rank_;
  std::map<std::tuple<NodeId, int64_t, int64_t, std::vector<int64_t>>, Value> permuted_;  // by constant and how
};

absl::StatusOr<Graph> Rewritten(const Graph& graph, size_t rank) {
  Rewriter rewriter(graph, rank);
  if (rewriter.empty()) return graph;
  return RebuildGraph(graph, {.rewrite = std::ref(rewriter)});
}

}  // namespace

absl::StatusOr<Graph> KeepChannelsLast(const Graph& graph, const ShapeFacts&) { return Rewritten(graph, 3); }

absl::StatusOr<Graph> KeepImagesChannelsLast(const Graph& graph, const ShapeFacts&) { return Rewritten(graph, 4); }

}  // namespace tailor
