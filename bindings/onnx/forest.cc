#include "bindings/onnx/forest.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "bindings/frontend/error.h"
#include "bindings/onnx/indexing.h"

namespace tailor::onnx {
namespace {

using frontend::Array;
using frontend::Builder;
using frontend::Fail;
using frontend::Operand;
using frontend::ReduceOp;
using frontend::Shape;
using frontend::Tensor;
using frontend::Unsupported;

// Tables of the nodes' members and of the leaves' weights have at most so many elements.
constexpr int64_t kMaxTable = int64_t{1} << 28;
// A graph has the steps of the deepest tree one by one.
constexpr int64_t kMaxDepth = 4096;

void DemandTable(int64_t rows, int64_t columns, const std::string& what) {
  if (columns > 0 && rows > kMaxTable / columns) Unsupported(what + " are more than 2^28");
}

void CheckPlaces(const Forest& forest) {
  const int64_t places = forest.places();
  const auto inside = [&](int64_t place) { return place >= 0 && place < places; };
  for (const Forest::Inner& inner : forest.inner) {
    if (!inside(inner.on_true) || !inside(inner.on_false)) Fail("a branch leads nowhere");
    if (inner.feature < 0 || inner.feature >= frontend::kLargestDim)
      Fail("a node tests feature " + std::to_string(inner.feature));
  }
  if (forest.roots.empty()) Fail("there are no trees");
  if (!std::all_of(forest.roots.begin(), forest.roots.end(), inside)) Fail("a root is no node");
}

// The most inner nodes from a root to a leaf.
int64_t DepthOf(const Forest& forest) {
  constexpr int64_t kNew = -1, kOpen = -2;
  const auto count = static_cast<int64_t>(forest.inner.size());
  std::vector<int64_t> depth(forest.inner.size(), kNew);
  const auto depth_at = [&](int64_t place) { return place < count ? depth[static_cast<size_t>(place)] : 0; };
  std::vector<int64_t> open = forest.roots;
  int64_t most = 0;
  while (!open.empty()) {
    const int64_t place = open.back();
    if (depth_at(place) >= 0) {
      most = std::max(most, depth_at(place));
      open.pop_back();
      continue;
    }
    const auto at = static_cast<size_t>(place);
    const Forest::Inner& inner = forest.inner[at];
    const bool opened = std::exchange(depth[at], kOpen) == kOpen;
    const int64_t branches[] = {depth_at(inner.on_true), depth_at(inner.on_false)};
    if (opened && branches[0] >= 0 && branches[1] >= 0) {
      depth[at] = 1 + std::max(branches[0], branches[1]);
      continue;
    }
    if (opened || branches[0] == kOpen || branches[1] == kOpen) Fail("its trees have a cycle");
    if (branches[0] == kNew) open.push_back(inner.on_true);
    if (branches[1] == kNew) open.push_back(inner.on_false);
  }
  if (most > kMaxDepth) Unsupported("a tree is " + std::to_string(most) + " nodes deep");
  return most;
}

// Walks down the trees. A table has one element for each place; leaves lead to themselves.
class Walk {
 public:
  Walk(const Node& node, const Forest& forest, const Tensor& x)
      : builder_(node.builder()),
        forest_(forest),
        x_(x),
        shape_({x.dim(0), static_cast<int64_t>(forest.roots.size())}) {
    modes_ = Table(DType::kI64, [](const auto& inner) { return static_cast<double>(inner.mode); });
    features_ = Table(DType::kI64, [](const auto& inner) { return static_cast<double>(inner.feature); });
    splits_ = Table(forest.dtype, [](const auto& inner) { return inner.split; });
    missing_ = Table(DType::kI64, [](const auto& inner) { return inner.missing_is_true ? 1.0 : 0.0; });
    on_true_ = Branch(&Forest::Inner::on_true);
    on_false_ = Branch(&Forest::Inner::on_false);
    for (const Forest::Inner& inner : forest.inner) {
      used_.insert(inner.mode);
      any_missing_ = any_missing_ || inner.missing_is_true;
    }
    if (used_.contains(TreeMode::kMember)) members_ = Members();
  }

  // The leaf that each row reaches in each tree: i64 [rows, trees].
  Tensor Leaves() const {
    Tensor place = Broadcast(builder_.Constant(Array::Integers(forest_.roots)), shape_);
    const Tensor row = Position(builder_, shape_, 0);
    for (int64_t step = DepthOf(forest_); step > 0; --step) {
      const Tensor value = FlatGather(x_, x_.shape(), {row, Gather(features_, place)}, shape_);
      place = Select(Holds(place, value), Gather(on_true_, place), Gather(on_false_, place));
    }
    return place - static_cast<int64_t>(forest_.inner.size());
  }

 private:
  template <typename Function>
  Tensor Table(DType dtype, Function function) const {
    Array array = Array::New(dtype, {forest_.places()});
    for (size_t i = 0; i < forest_.inner.size(); ++i) array.set(static_cast<int64_t>(i), function(forest_.inner[i]));
    return builder_.Constant(std::move(array));
  }

  Tensor Branch(int64_t Forest::Inner::*place) const {
    Array array = Array::New(DType::kI64, {forest_.places()});
    const auto count = static_cast<int64_t>(forest_.inner.size());
    for (int64_t i = 0; i < array.size(); ++i) {
      array.set_integer(i, i < count ? forest_.inner[static_cast<size_t>(i)].*place : i);
    }
    return builder_.Constant(std::move(array));
  }

  // [places, most members]; NaN, which equals nothing, fills the rows.
  Tensor Members() const {
    size_t most = 0;
    for (const Forest::Inner& inner : forest_.inner) most = std::max(most, inner.members.size());
    const auto width = static_cast<int64_t>(most);
    DemandTable(forest_.places(), width, "the members of its nodes");
    Array array = Array::New(forest_.dtype, {forest_.places(), width});
    for (int64_t i = 0; i < array.size(); ++i) array.set(i, std::numeric_limits<double>::quiet_NaN());
    for (size_t i = 0; i < forest_.inner.size(); ++i) {
      const std::vector<double>& members = forest_.inner[i].members;
      for (size_t j = 0; j < members.size(); ++j) array.set(static_cast<int64_t>(i * most + j), members[j]);
    }
    return builder_.Constant(std::move(array));
  }

  Tensor Compared(TreeMode mode, const Tensor& place, const Tensor& value, const Tensor& split) const {
    switch (mode) {
      case TreeMode::kLessEqual:
        return value <= split;
      case TreeMode::kLess:
        return value < split;
      case TreeMode::kGreaterEqual:
        return value >= split;
      case TreeMode::kGreater:
        return value > split;
      case TreeMode::kEqual:
        return Eq(value, split);
      case TreeMode::kNotEqual:
        return Ne(value, split);
      case TreeMode::kMember:
        break;
    }
    const Tensor equal = Eq(Gather(members_, place), Reshape(value, {shape_[0], shape_[1], 1}));
    return Reduce(ReduceOp::kMax, Cast(equal, DType::kI32), {2}) > 0;
  }

  // Whether each value takes the true branch of the node at its place.
  Tensor Holds(const Tensor& place, const Tensor& value) const {
    const Tensor split = Gather(splits_, place);
    Tensor out;
    for (TreeMode mode : used_) {
      const Tensor test = Compared(mode, place, value, split);
      out = out ? Select(Eq(Gather(modes_, place), static_cast<int64_t>(mode)), test, out) : test;
    }
    if (!any_missing_) return out;
    return out | (Ne(value, value) & Ne(Gather(missing_, place), 0));
  }

  Builder& builder_;
  const Forest& forest_;
  const Tensor& x_;
  Shape shape_;  // [rows, trees]
  Tensor modes_, features_, splits_, missing_, on_true_, on_false_, members_;
  std::set<TreeMode> used_;
  bool any_missing_ = false;
};

// [leaves, targets]; `neutral` where a leaf has no weight for a target.
Tensor WeightTable(Builder& builder, const Forest& forest, double neutral) {
  DemandTable(forest.leaves, forest.targets, "the weights of its leaves");
  Array array = Array::New(forest.dtype, {forest.leaves, forest.targets});
  std::vector<bool> given(static_cast<size_t>(array.size()), false);
  if (neutral != 0) {
    for (int64_t i = 0; i < array.size(); ++i) array.set(i, neutral);
  }
  for (const auto& [leaf, target, weight] : forest.weights) {
    if (leaf < 0 || leaf >= forest.leaves) Fail("a weight of no leaf");
    if (target < 0 || target >= forest.targets) Fail("a weight for target " + std::to_string(target));
    const int64_t at = leaf * forest.targets + target;
    array.set(at, given[static_cast<size_t>(at)] ? array.number(at) + weight : weight);
    given[static_cast<size_t>(at)] = true;
  }
  return builder.Constant(std::move(array));
}

double GreatestOf(DType dtype) {
  if (dtype == DType::kF64) return std::numeric_limits<double>::max();
  return dtype == DType::kF16 ? 65504 : std::numeric_limits<float>::max();
}

}  // namespace

Tensor Predict(const Node& node, const Forest& forest, const Tensor& x, TreeAggregate aggregate) {
  if (x.rank() != 2) Fail("an operand has rank " + std::to_string(x.rank()) + ", not 2");
  if (forest.targets < 1) Fail(std::to_string(forest.targets) + " targets");
  CheckPlaces(forest);
  int64_t features = 0;
  for (const Forest::Inner& inner : forest.inner) features = std::max(features, inner.feature + 1);
  node.dims().AssumeAtLeast(x.dim(1), features, node.Label() + ", the features");

  const double greatest = GreatestOf(forest.dtype);
  double neutral = 0;
  ReduceOp op = ReduceOp::kSum;
  if (aggregate == TreeAggregate::kMin) {
    neutral = greatest;
    op = ReduceOp::kMin;
  } else if (aggregate == TreeAggregate::kMax) {
    neutral = -greatest;
    op = ReduceOp::kMax;
  }
  const Tensor weights = WeightTable(node.builder(), forest, neutral);
  const Tensor out = Reduce(op, Gather(weights, Walk(node, forest, x).Leaves()), {1});
  return aggregate == TreeAggregate::kAverage ? out / static_cast<double>(forest.roots.size()) : out;
}

}  // namespace tailor::onnx
