#include "fusion/image_layouts.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "fusion/narrow_matmuls.h"
#include "fusion/node_class.h"

namespace tailor {
namespace {

// The lanes of the widest vectors. With fewer channels the runs of a window are shorter.
constexpr int64_t kLanes = 16, kLeastChannels = kLanes;

bool IsOne(const DimExpr& dim) { return dim == DimExpr(1); }

bool IsTranspose(const Node& node, const std::vector<int64_t>& permutation) {
  return node.op == OpKind::kTranspose && node.i64s("permutation") == permutation;
}

// Whether channels leave at most a fifth of the lanes idle.
bool FillVectors(int64_t channels) { return (channels + kLanes - 1) / kLanes * kLanes * 4 <= channels * 5; }

std::vector<int64_t> Axes(size_t first, size_t count) {
  std::vector<int64_t> axes(count);
  std::iota(axes.begin(), axes.end(), static_cast<int64_t>(first));
  return axes;
}

// [batch, channels, positions..., K...] -> [batch, channels, K..., positions...].
std::vector<int64_t> WindowsBeforePositions(size_t rank) {
  std::vector<int64_t> order = Axes(0, 2 * rank - 2);
  std::rotate(order.begin() + 2, order.begin() + rank, order.end());
  return order;
}

// The constant that reshapes lead to; -1: none.
NodeId ConstantBehind(const Graph& graph, Value v) {
  NodeId id = v.node;
  while (graph.node(id).op == OpKind::kReshape) id = graph.node(id).operands[0].node;
  return graph.node(id).op == OpKind::kConstant ? id : -1;
}

}  // namespace

std::vector<int64_t> ToChannelsLast(size_t rank) {
  std::vector<int64_t> order = Axes(0, rank);
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

std::vector<int64_t> ToChannelsFirst(size_t rank) {
  std::vector<int64_t> order = Axes(0, rank);
  std::rotate(order.begin() + 1, order.end() - 1, order.end());
  return order;
}

ImageLayouts::ImageLayouts(const Graph& graph, size_t rank)
    : graph_(graph), rank_(rank), users_(graph.nodes().size()), set_of_(graph.nodes().size()) {
  const auto nodes = static_cast<NodeId>(graph.nodes().size());
  std::iota(set_of_.begin(), set_of_.end(), 0);
  for (NodeId id = 0; id < nodes; ++id) {
    for (Value operand : graph.node(id).operands) users_[operand.node].push_back(id);
    if (std::optional<Convolution> found = FindConvolution(id)) convolutions_.emplace(id, *found);
  }
  for (const Output& output : graph.outputs()) users_[output.value.node].push_back(-1);

  std::set<NodeId> images, first;
  for (NodeId id = 0; id < nodes; ++id) {
    if (!IsImage({id, 0})) continue;
    images.insert(id);
    const bool can = LinkProducer(id) && AllUsers(id, [&](NodeId user) { return CanRead(user, id); });
    if (!can) first.insert(id);
  }
  std::set<NodeId> sets_first;
  for (NodeId id : first) sets_first.insert(Find(id));
  for (NodeId id : images) {
    if (!sets_first.contains(Find(id))) last_.insert(id);
  }
  std::erase_if(convolutions_, [&](const auto& entry) { return !last_.contains(entry.second.image); });
  std::erase_if(last_, [&](NodeId id) { return IsTransposeToFirst(id); });
}

NodeId ImageLayouts::Find(NodeId id) {
  while (set_of_[id] != id) id = set_of_[id] = set_of_[set_of_[id]];
  return id;
}

const Convolution* ImageLayouts::ConvolutionOf(NodeId dot) const {
  const auto found = convolutions_.find(dot);
  return found == convolutions_.end() ? nullptr : &found->second;
}

bool ImageLayouts::ReducesImage(NodeId id) const {
  return ReducesAll(id) && last_.contains(graph_.node(id).operands[0].node);
}

bool ImageLayouts::JoinsPositions(NodeId id) const {
  return JoinsAll(id) && last_.contains(graph_.node(id).operands[0].node);
}

bool ImageLayouts::IsImage(Value v) const {
  const Node& node = graph_.node(v.node);
  if (node.results.size() != 1 || node.results[0].shape.size() != rank_) return false;
  const Shape& shape = node.results[0].shape;
  const std::optional<int64_t> channels = shape[1].constant();
  if (!channels || *channels < kLeastChannels || (rank_ > 3 && !FillVectors(*channels))) return false;
  return !std::all_of(shape.begin() + 2, shape.end(), IsOne);
}

// Whether `v` is an image of as many channels as image `id`. Its positions may be others: those of elementwise nodes
// may broadcast.
bool ImageLayouts::HasChannelsOf(Value v, NodeId id) const {
  return IsImage(v) && graph_.type(v).shape[1] == graph_.type({id, 0}).shape[1];
}

// A scalar, or an operand that is broadcast along channels or positions: its layouts are one.
bool ImageLayouts::IsSmall(Value v) const {
  const Shape& shape = graph_.type(v).shape;
  if (shape.size() < rank_ - 1) return true;
  const DimExpr& channels = shape[shape.size() - (rank_ - 1)];
  return IsOne(channels) || std::all_of(shape.end() - static_cast<ptrdiff_t>(rank_ - 2), shape.end(), IsOne);
}

bool ImageLayouts::AllUsers(NodeId id, const std::function<bool(NodeId)>& holds) const {
  return std::all_of(users_[id].begin(), users_[id].end(), [&](NodeId user) { return user >= 0 && holds(user); });
}

std::optional<Convolution> ImageLayouts::FindConvolution(NodeId id) const {
  const Node& dot = graph_.node(id);
  if (dot.op != OpKind::kDot || dot.i64("transpose_lhs") == 0 || dot.i64("transpose_rhs") == 0) return std::nullopt;
  const Node& patches = graph_.node(dot.operands[0].node);
  if (patches.op != OpKind::kReshape || patches.results[0].shape.size() != 4 || !IsOne(patches.results[0].shape[1]))
    return std::nullopt;
  Convolution c{.image = patches.operands[0].node, .window = -1, .weights = -1, .channels = 0, .taps = 1};
  if (IsTranspose(graph_.node(c.image), WindowsBeforePositions(rank_))) {
    c.window = graph_.node(c.image).operands[0].node;
    const Node& window = graph_.node(c.window);
    if (window.op != OpKind::kWindow || window.i64s("axes") != Axes(2, rank_ - 2)) return std::nullopt;
    for (const DimExpr& size : window.dims("sizes")) {
      if (!size.constant()) return std::nullopt;
      c.taps *= *size.constant();
    }
    c.image = window.operands[0].node;
  }
  if (!IsImage({c.image, 0})) return std::nullopt;
  const Shape &image = graph_.type({c.image, 0}).shape, &matrix = graph_.type(dot.operands[1]).shape;
  c.channels = *image[1].constant();
  c.weights = ConstantBehind(graph_, dot.operands[1]);
  if (image[0] != patches.results[0].shape[0] || c.weights < 0 || matrix.size() != 3 || !IsOne(matrix[0]) ||
      matrix[2] != DimExpr(c.channels * c.taps))
    return std::nullopt;
  return c;
}

// Whether a convolution is as fast as with an image that is channels first. Not windows of few filters, for whose
// results lanes run along positions.
bool ImageLayouts::MayReadLast(NodeId dot) const {
  const auto found = convolutions_.find(dot);
  if (found == convolutions_.end()) return false;
  const Node& node = graph_.node(dot);
  const Convolution& c = found->second;
  constexpr int64_t kWordBytes = 4;  // of integers, a step of K is a word: its bytes have to be neighbours
  const DType dtype = graph_.type(node.operands[0]).dtype;
  if (c.taps > 1 && IsInteger(dtype) && c.channels * SizeOf(dtype) % kWordBytes != 0) return false;
  return rank_ < 4 || c.taps == 1 || node.results[0].shape.back().constant().value_or(0) >= kLeastChannels;
}

bool ImageLayouts::IsTransposeToFirst(NodeId id) const { return IsTranspose(graph_.node(id), ToChannelsFirst(rank_)); }

// [batch, 1, positions, channels] transposed and reshaped to [batch, channels, positions...].
bool ImageLayouts::IsConvResult(NodeId id) const {
  const Node& node = graph_.node(id);
  if (node.op != OpKind::kReshape) return false;
  const Node& moved = graph_.node(node.operands[0].node);
  if (!IsTranspose(moved, {0, 1, 3, 2})) return false;
  const Shape &from = moved.results[0].shape, &to = node.results[0].shape;
  if (!IsOne(from[1]) || from[0] != to[0] || from[2] != to[1]) return false;
  NodeId product = moved.operands[0].node;
  while (graph_.node(product).op == OpKind::kAdd) product = graph_.node(product).operands[0].node;
  return !IsOuterProduct(graph_, product);  // which becomes elementwise nodes: its readers would compute them again
}

// Whether node `id` concatenates images by channel.
bool ImageLayouts::ConcatsChannels(NodeId id) const {
  const Node& node = graph_.node(id);
  return rank_ == 4 && node.op == OpKind::kConcat && node.i64("axis") == 1 && IsImage({id, 0}) &&
         std::all_of(node.operands.begin(), node.operands.end(), [&](Value operand) { return IsImage(operand); });
}

// Whether node `id` is a slice of an image, or gathers of it along the batch or a dim of positions.
bool ImageLayouts::TakesPart(NodeId id) const {
  const Node& node = graph_.node(id);
  if (rank_ != 4 || (node.op != OpKind::kSlice && node.op != OpKind::kGather)) return false;
  if (!IsImage({id, 0}) || !IsImage(node.operands[0])) return false;
  return node.op == OpKind::kSlice || (node.i64("axis") != 1 && graph_.type(node.operands[1]).shape.size() == 1);
}

NodeId ImageLayouts::RepeatedImage(NodeId id) const {
  const Node& joined = graph_.node(id);
  if (rank_ != 4 || joined.op != OpKind::kReshape || !IsImage({id, 0})) return -1;
  const Node& repeated = graph_.node(joined.operands[0].node);
  if (repeated.op != OpKind::kBroadcast) return -1;
  const Node& spread = graph_.node(repeated.operands[0].node);
  if (spread.op != OpKind::kReshape || !IsImage(spread.operands[0])) return -1;
  const Shape& from = graph_.type(spread.operands[0]).shape;
  const Shape& times = repeated.results[0].shape;
  const Shape& to = joined.results[0].shape;
  if (times.size() != 6 || spread.results[0].shape != Shape{from[0], from[1], from[2], 1, from[3], 1}) return -1;
  if (Shape{times[0], times[1], times[2], times[4]} != from) return -1;
  const bool joins = to == Shape{from[0], from[1], from[2] * times[3], from[3] * times[5]};
  return joins ? spread.operands[0].node : -1;
}

// Whether all that reads the reshape of an image repeats its elements.
bool ImageLayouts::IsRepetition(NodeId reshape) const {
  return AllUsers(reshape, [&](NodeId repeated) {
    return graph_.node(repeated).op == OpKind::kBroadcast &&
           AllUsers(repeated, [&](NodeId joined) { return RepeatedImage(joined) >= 0; });
  });
}

bool ImageLayouts::JoinsAll(NodeId id) const {
  const Node& node = graph_.node(id);
  if (rank_ < 4 || node.op != OpKind::kReshape || !IsImage(node.operands[0])) return false;
  const Shape &from = graph_.type(node.operands[0]).shape, &to = node.results[0].shape;
  return to.size() == 3 && to[0] == from[0] && to[1] == from[1];
}

bool ImageLayouts::ReducesAll(NodeId id) const {
  const Node& node = graph_.node(id);
  return IsReduction(node) && node.operands.size() == 1 && IsImage(node.operands[0]) &&
         node.i64s("axes") == Axes(2, rank_ - 2);
}

std::optional<WindowReduction> ImageLayouts::WindowReductionOf(NodeId id) const {
  // Larger windows do not fit the kernels whose lanes are channels (codegen/cpu/loops/plane_windows.h).
  constexpr int64_t kMostSize = 7, kMostStride = 2;
  const Node& node = graph_.node(id);
  if (rank_ != 4 || !IsReduction(node) || node.operands.size() != 1 || node.results[0].dtype != DType::kF32 ||
      !IsImage({id, 0}))
    return std::nullopt;
  if (node.i64s("axes") != Axes(rank_, rank_ - 2)) return std::nullopt;
  WindowReduction found;
  NodeId window = node.operands[0].node;
  if (const Node& product = graph_.node(window); product.op == OpKind::kMul && node.op == OpKind::kReduceSum) {
    found.window_operand = graph_.node(product.operands[0].node).op == OpKind::kWindow ? 0 : 1;
    window = product.operands[found.window_operand].node;
    found.factors = ConstantBehind(graph_, product.operands[1 - found.window_operand]);
    if (found.factors < 0) return std::nullopt;
  }
  const Node& windows = graph_.node(window);
  if (windows.op != OpKind::kWindow || windows.i64s("axes") != Axes(2, rank_ - 2) || !IsImage(windows.operands[0]))
    return std::nullopt;
  found.image = windows.operands[0].node;
  found.channels = *graph_.type(windows.operands[0]).shape[1].constant();
  found.sizes = windows.dims("sizes");
  for (const DimExpr& size : found.sizes) {
    if (!size.constant() || *size.constant() > kMostSize) return std::nullopt;
    found.taps *= *size.constant();
  }
  const auto above = [&](const char* name, int64_t most) {
    const std::vector<int64_t>& values = windows.i64s(name);
    return std::any_of(values.begin(), values.end(), [&](int64_t value) { return value > most; });
  };
  if (above("dilations", 1) || above("strides", kMostStride)) return std::nullopt;
  if (found.factors >= 0) {
    const Shape& factors = graph_.type(graph_.node(node.operands[0].node).operands[1 - found.window_operand]).shape;
    Shape expected(2 * rank_ - 3, 1);
    expected[0] = found.channels;
    std::copy(found.sizes.begin(), found.sizes.end(), expected.end() - static_cast<ptrdiff_t>(found.sizes.size()));
    if (factors != expected) return std::nullopt;
  }
  return found;
}

bool ImageLayouts::LinkProducer(NodeId id) {
  const Node& node = graph_.node(id);
  if (IsTransposeToFirst(id) || IsConvResult(id)) return true;
  if (node.op == OpKind::kPad) {
    if (IsImage(node.operands[0])) Link(id, node.operands[0].node);
    return IsImage(node.operands[0]);
  }
  if (const std::optional<WindowReduction> windows = WindowReductionOf(id)) {
    Link(id, windows->image);
    return true;
  }
  if (ConcatsChannels(id)) {
    for (Value operand : node.operands) Link(id, operand.node);
    return true;
  }
  if (TakesPart(id)) {
    Link(id, node.operands[0].node);
    return true;
  }
  if (const NodeId image = RepeatedImage(id); image >= 0) {
    Link(id, image);
    return true;
  }
  if (ClassOf(node) != FusionClass::kElementwise) return false;
  bool has_image = false, fits = true;
  for (Value operand : node.operands) {
    if (IsSmall(operand)) continue;
    has_image = has_image || IsImage(operand);
    if (IsImage(operand)) Link(id, operand.node);
    fits = fits && HasChannelsOf(operand, id);
  }
  return fits && has_image;
}

bool ImageLayouts::CanReadWindows(NodeId window) const {
  return AllUsers(window, [&](NodeId user) {
    if (WindowReductionOf(user)) return true;
    const Node& node = graph_.node(user);
    if (node.op == OpKind::kMul) return AllUsers(user, [&](NodeId sum) { return WindowReductionOf(sum).has_value(); });
    return IsTranspose(node, WindowsBeforePositions(rank_)) && AllUsers(user, [&](NodeId reshape) {
             return graph_.node(reshape).op == OpKind::kReshape &&
                    AllUsers(reshape, [&](NodeId dot) { return MayReadLast(dot); });
           });
  });
}

bool ImageLayouts::CanRead(NodeId user, NodeId id) const {
  const Node& node = graph_.node(user);
  if (node.op == OpKind::kWindow) return node.i64s("axes") == Axes(2, rank_ - 2) && CanReadWindows(user);
  if (IsTranspose(node, ToChannelsLast(rank_)) || ReducesAll(user)) return true;
  if (node.op == OpKind::kPad) return node.operands[0].node == id && IsImage({user, 0});
  if (ConcatsChannels(user)) return true;
  if (TakesPart(user)) return node.operands[0].node == id;
  if (node.op == OpKind::kReshape) {
    if (JoinsAll(user)) {
      return AllUsers(user, [&](NodeId moved) { return IsTranspose(graph_.node(moved), ToChannelsLast(3)); });
    }
    return IsRepetition(user) || AllUsers(user, [&](NodeId dot) { return convolutions_.contains(dot); });
  }
  return ClassOf(node) == FusionClass::kElementwise && HasChannelsOf({user, 0}, id);
}

}  // namespace tailor
