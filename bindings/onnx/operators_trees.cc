// Operators of the domain ai.onnx.ml on decision trees.
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bindings/frontend/error.h"
#include "bindings/onnx/forest.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"
#include "bindings/onnx/scores.h"

namespace tailor::onnx {
namespace {

using frontend::Array;
using frontend::Fail;
using frontend::Tensor;

// The elements of a constant attribute of rank 1; `count` of them, unless it is -1.
Array TensorAttribute(const Node& node, const char* name, int64_t count = -1) {
  const Tensor tensor = node.TensorOf(name);
  if (!tensor || tensor.array() == nullptr) Fail("its attribute \"" + std::string(name) + "\" is missing");
  if (count >= 0 && tensor.array()->size() != count) {
    Fail(std::to_string(tensor.array()->size()) + " " + name + " for " + std::to_string(count));
  }
  return *tensor.array();
}

std::vector<int64_t> IntsOf(const Node& node, const char* name, size_t count) {
  auto values = node.Ints(name);
  if (values.size() != count) Fail(std::to_string(values.size()) + " " + name + " for " + std::to_string(count));
  return values;
}

// Where the branches `name` ("true" or "false") of the inner nodes lead.
std::vector<int64_t> BranchesOf(const Node& node, const std::string& name, size_t inner, int64_t leaves) {
  auto places = IntsOf(node, ("nodes_" + name + "nodeids").c_str(), inner);
  const auto is_leaf = IntsOf(node, ("nodes_" + name + "leafs").c_str(), inner);
  const auto count = static_cast<int64_t>(inner);
  for (size_t i = 0; i < inner; ++i) {
    if (places[i] < 0 || places[i] >= (is_leaf[i] != 0 ? leaves : count)) {
      Fail("a " + name + " branch leads nowhere");
    }
    if (is_leaf[i] != 0) places[i] += count;
  }
  return places;
}

// Gives each node with members the next of the sets that NaNs end.
void SetMembers(const Node& node, Forest& forest) {
  std::vector<std::vector<double>> sets(1);
  if (node.Has("membership_values")) {
    const Array values = TensorAttribute(node, "membership_values");
    for (int64_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values.number(i))) {
        sets.emplace_back();
      } else {
        sets.back().push_back(values.number(i));
      }
    }
  }
  size_t next = 0;
  for (Forest::Inner& inner : forest.inner) {
    if (inner.mode != TreeMode::kMember) continue;
    if (next + 1 >= sets.size()) Fail("there are fewer sets of members than nodes that test them");
    inner.members = std::move(sets[next++]);
  }
  if (next + 1 != sets.size()) Fail("there are more sets of members than nodes that test them");
}

Forest ForestOf(const Node& node) {
  Forest forest;
  const Array splits = TensorAttribute(node, "nodes_splits"), weights = TensorAttribute(node, "leaf_weights");
  const auto count = static_cast<size_t>(splits.size());
  const Array modes = TensorAttribute(node, "nodes_modes", splits.size());
  if (IsFloat(modes.dtype())) Fail("nodes_modes are not integers");
  if (!IsFloat(splits.dtype())) Fail("nodes_splits are not floats");
  const auto features = IntsOf(node, "nodes_featureids", count);
  const std::vector<int64_t> none(count, 0);
  const bool tracks = node.Has("nodes_missing_value_tracks_true");
  const auto missing = tracks ? IntsOf(node, "nodes_missing_value_tracks_true", count) : none;
  forest.dtype = splits.dtype();
  forest.leaves = weights.size();
  const auto on_true = BranchesOf(node, "true", count, forest.leaves);
  const auto on_false = BranchesOf(node, "false", count, forest.leaves);
  for (size_t i = 0; i < count; ++i) {
    const int64_t mode = modes.integer(static_cast<int64_t>(i));
    if (mode < 0 || mode > static_cast<int64_t>(TreeMode::kMember)) Fail("unknown mode " + std::to_string(mode));
    const double split = splits.number(static_cast<int64_t>(i));
    forest.inner.push_back(
        {static_cast<TreeMode>(mode), features[i], split, missing[i] != 0, on_true[i], on_false[i], {}});
  }
  SetMembers(node, forest);
  forest.targets = node.Int("n_targets", 1);
  const auto targets = IntsOf(node, "leaf_targetids", static_cast<size_t>(weights.size()));
  for (int64_t i = 0; i < weights.size(); ++i) {
    forest.weights.push_back({i, targets[static_cast<size_t>(i)], weights.number(i)});
  }
  forest.roots = node.Ints("tree_roots");
  for (int64_t root : forest.roots) {
    if (root < 0 || root >= splits.size()) Fail("root " + std::to_string(root) + " is no node");
  }
  return forest;
}

Tensors TreeEnsemble(const Node& node) {
  const int64_t aggregate = node.Int("aggregate_function"), transform = node.Int("post_transform");
  if (aggregate < 0 || aggregate > static_cast<int64_t>(TreeAggregate::kMax)) {
    Fail("unknown aggregate_function " + std::to_string(aggregate));
  }
  if (transform < 0 || transform > static_cast<int64_t>(ScoreTransform::kProbit)) {
    Fail("unknown post_transform " + std::to_string(transform));
  }
  const Tensor scores = Predict(node, ForestOf(node), node[0], static_cast<TreeAggregate>(aggregate));
  return {Transformed(scores, static_cast<ScoreTransform>(transform))};
}

// The numbers of an attribute, which may be given as a tensor.
std::vector<double> NumbersOf(const Node& node, const std::string& name) {
  const std::string as_tensor = name + "_as_tensor";
  if (!node.Has(as_tensor)) return node.Floats(name);
  const Array array = TensorAttribute(node, as_tensor.c_str());
  std::vector<double> numbers;
  for (int64_t i = 0; i < array.size(); ++i) numbers.push_back(array.number(i));
  return numbers;
}

std::vector<int64_t> IntsOrNone(const Node& node, const char* name) { return node.Ints(name, {}); }

// "LEAF" gives nullopt.
std::optional<TreeMode> ModeNamed(const std::string& name) {
  static constexpr std::pair<std::string_view, TreeMode> kModes[] = {
      {"BRANCH_LEQ", TreeMode::kLessEqual}, {"BRANCH_LT", TreeMode::kLess},  {"BRANCH_GTE", TreeMode::kGreaterEqual},
      {"BRANCH_GT", TreeMode::kGreater},    {"BRANCH_EQ", TreeMode::kEqual}, {"BRANCH_NEQ", TreeMode::kNotEqual},
  };
  if (name == "LEAF") return std::nullopt;
  for (const auto& [known, mode] : kModes) {
    if (known == name) return mode;
  }
  Fail("unknown mode \"" + name + "\"");
}

// A forest whose nodes have names: numbers of their trees and of themselves.
class NamedForest {
 public:
  // `role`: "class" or "target", of the weights.
  NamedForest(const Node& node, const std::string& role, int64_t targets, DType dtype) : node_(node) {
    forest_.dtype = dtype;
    forest_.targets = targets;
    PlaceNodes();
    AddInner();
    AddWeights(role);
  }
  const Forest& forest() const { return forest_; }
  // The targets that some leaf has a weight for.
  const std::set<int64_t>& weighted() const { return weighted_; }
  bool all_positive() const { return all_positive_; }

 private:
  using Name = std::pair<int64_t, int64_t>;  // tree, node

  // Counts inner nodes and leaves. A tree's first node is its root.
  void PlaceNodes() {
    const std::vector<std::string> names = node_.Strings("nodes_modes");
    const auto trees = IntsOf(node_, "nodes_treeids", names.size());
    const auto nodes = IntsOf(node_, "nodes_nodeids", names.size());
    int64_t inner = 0;
    for (size_t i = 0; i < names.size(); ++i) {
      modes_.push_back(ModeNamed(names[i]));
      names_.push_back({trees[i], nodes[i]});
      inner += modes_.back() ? 1 : 0;
    }
    int64_t next = 0;
    std::set<int64_t> seen;
    for (size_t i = 0; i < names_.size(); ++i) {
      const int64_t place = modes_[i] ? next++ : inner + forest_.leaves++;
      if (!places_.emplace(names_[i], place).second) Fail("two nodes of a tree have one number");
      if (seen.insert(names_[i].first).second) forest_.roots.push_back(place);
    }
  }

  int64_t PlaceOf(const Name& name) const {
    const auto found = places_.find(name);
    return found == places_.end() ? -1 : found->second;
  }

  void AddInner() {
    const size_t count = names_.size();
    const auto features = IntsOf(node_, "nodes_featureids", count);
    const auto on_true = IntsOf(node_, "nodes_truenodeids", count);
    const auto on_false = IntsOf(node_, "nodes_falsenodeids", count);
    const auto splits = NumbersOf(node_, "nodes_values");
    if (splits.size() != count) Fail(std::to_string(splits.size()) + " nodes_values for " + std::to_string(count));
    auto missing = IntsOrNone(node_, "nodes_missing_value_tracks_true");
    if (missing.empty()) missing.assign(count, 0);
    if (missing.size() != count) Fail("nodes_missing_value_tracks_true has not an entry for each node");
    for (size_t i = 0; i < count; ++i) {
      if (!modes_[i]) continue;
      const int64_t tree = names_[i].first;
      forest_.inner.push_back({*modes_[i],
                               features[i],
                               splits[i],
                               missing[i] != 0,
                               PlaceOf({tree, on_true[i]}),
                               PlaceOf({tree, on_false[i]}),
                               {}});
    }
  }

  void AddWeights(const std::string& role) {
    const auto targets = IntsOrNone(node_, (role + "_ids").c_str());
    const auto trees = IntsOf(node_, (role + "_treeids").c_str(), targets.size());
    const auto nodes = IntsOf(node_, (role + "_nodeids").c_str(), targets.size());
    const auto weights = NumbersOf(node_, role + "_weights");
    if (weights.size() != targets.size()) Fail("there are not as many weights as targets of them");
    const auto inner = static_cast<int64_t>(forest_.inner.size());
    for (size_t i = 0; i < targets.size(); ++i) {
      const int64_t place = PlaceOf({trees[i], nodes[i]});
      if (place < 0) Fail("a weight of no node");
      weighted_.insert(targets[i]);
      all_positive_ = all_positive_ && weights[i] >= 0;
      if (place >= inner) forest_.weights.push_back({place - inner, targets[i], weights[i]});
    }
  }

  const Node& node_;
  std::vector<std::optional<TreeMode>> modes_;
  std::vector<Name> names_;
  std::map<Name, int64_t> places_;
  Forest forest_;
  std::set<int64_t> weighted_;
  bool all_positive_ = true;
};

TreeAggregate AggregateOf(const Node& node) {
  static constexpr const char* kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const std::string name = node.String("aggregate_function");
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<TreeAggregate>(i);
  }
  Fail("unknown aggregate_function \"" + name + "\"");
}

// The operand in the type that its features are compared in.
Tensor Features(const Tensor& x) { return Cast(x, x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32); }

// Scores [rows, targets] plus the base values, of which there is none, one, or one for each target.
Tensor WithBase(const Node& node, const Tensor& scores) {
  const std::vector<double> base = NumbersOf(node, "base_values");
  if (base.empty()) return scores;
  const auto count = static_cast<int64_t>(base.size());
  if (count != 1 && !scores.dim(1).is(count)) Fail(std::to_string(count) + " base_values");
  Array array = Array::New(scores.dtype(), {count});
  for (int64_t i = 0; i < count; ++i) array.set(i, base[static_cast<size_t>(i)]);
  return scores + node.builder().Constant(std::move(array));
}

Tensors TreeEnsembleRegressor(const Node& node) {
  const Tensor x = Features(node[0]);
  const NamedForest named(node, "target", node.Int("n_targets", 1), x.dtype());
  const Tensor scores = WithBase(node, Predict(node, named.forest(), x, AggregateOf(node)));
  const ScoreTransform transform = TransformOf(node);
  // Of a single score there is no distribution.
  const bool single = named.forest().targets == 1 && transform != ScoreTransform::kProbit;
  return {Cast(single ? scores : Transformed(scores, transform), DType::kF32)};
}

Tensors TreeEnsembleClassifier(const Node& node) {
  const Tensor x = Features(node[0]);
  const std::vector<int64_t> labels = IntegerLabels(node, "classlabels_int64s");
  const auto count = static_cast<int64_t>(labels.size());
  const NamedForest named(node, "class", count, x.dtype());
  const ScoreTransform transform = TransformOf(node);
  const Tensor scores = WithBase(node, Predict(node, named.forest(), x, TreeAggregate::kSum));
  if (count != 2 || named.weighted().size() > 1) {
    const Tensor label = BestLabel(node, scores, labels, named.weighted());
    return {label, Cast(Transformed(scores, transform), DType::kF32)};
  }
  // The weights are those of one class: the second one.
  const bool first = !named.weighted().contains(1);
  const Tensor score = SliceAxis(scores, 1, first ? 0 : 1, 1);
  const Tensor label = LabelOfTwo(score, named.all_positive() ? 0.5 : 0, labels);
  if (!first) return {label, Cast(Transformed(scores, transform), DType::kF32)};
  return {label, Cast(ScoresOfTwo(score, transform, named.all_positive()), DType::kF32)};
}

constexpr const char* kTreesDomain = "ai.onnx.ml";

constexpr OperatorRow kTreesRows[] = {
    {kTreesDomain, "TreeEnsemble", 5, "X", "Y",
     "aggregate_function:int=1 leaf_targetids:ints! leaf_weights:tensor! membership_values:tensor n_targets:int "
     "nodes_falseleafs:ints! nodes_falsenodeids:ints! nodes_featureids:ints! nodes_hitrates:tensor "
     "nodes_missing_value_tracks_true:ints nodes_modes:tensor! nodes_splits:tensor! nodes_trueleafs:ints! "
     "nodes_truenodeids:ints! post_transform:int=0 tree_roots:ints!",
     TreeEnsemble},
    {kTreesDomain, "TreeEnsembleClassifier", 1, "X", "Y Z",
     "base_values:floats class_ids:ints class_nodeids:ints class_treeids:ints class_weights:floats "
     "classlabels_int64s:ints classlabels_strings:strings nodes_falsenodeids:ints nodes_featureids:ints "
     "nodes_hitrates:floats nodes_missing_value_tracks_true:ints nodes_modes:strings nodes_nodeids:ints "
     "nodes_treeids:ints nodes_truenodeids:ints nodes_values:floats post_transform:string=NONE",
     TreeEnsembleClassifier},
    {kTreesDomain, "TreeEnsembleClassifier", 3, "X", "Y Z",
     "base_values:floats base_values_as_tensor:tensor class_ids:ints class_nodeids:ints class_treeids:ints "
     "class_weights:floats class_weights_as_tensor:tensor classlabels_int64s:ints classlabels_strings:strings "
     "nodes_falsenodeids:ints nodes_featureids:ints nodes_hitrates:floats nodes_hitrates_as_tensor:tensor "
     "nodes_missing_value_tracks_true:ints nodes_modes:strings nodes_nodeids:ints nodes_treeids:ints "
     "nodes_truenodeids:ints nodes_values:floats nodes_values_as_tensor:tensor post_transform:string=NONE",
     TreeEnsembleClassifier},
    {kTreesDomain, "TreeEnsembleRegressor", 1, "X", "Y",
     "aggregate_function:string=SUM base_values:floats n_targets:int nodes_falsenodeids:ints nodes_featureids:ints "
     "nodes_hitrates:floats nodes_missing_value_tracks_true:ints nodes_modes:strings nodes_nodeids:ints "
     "nodes_treeids:ints nodes_truenodeids:ints nodes_values:floats post_transform:string=NONE target_ids:ints "
     "target_nodeids:ints target_treeids:ints target_weights:floats",
     TreeEnsembleRegressor},
    {kTreesDomain, "TreeEnsembleRegressor", 3, "X", "Y",
     "aggregate_function:string=SUM base_values:floats base_values_as_tensor:tensor n_targets:int "
     "nodes_falsenodeids:ints nodes_featureids:ints nodes_hitrates:floats nodes_hitrates_as_tensor:tensor "
     "nodes_missing_value_tracks_true:ints nodes_modes:strings nodes_nodeids:ints nodes_treeids:ints "
     "nodes_truenodeids:ints nodes_values:floats nodes_values_as_tensor:tensor post_transform:string=NONE "
     "target_ids:ints target_nodeids:ints target_treeids:ints target_weights:floats target_weights_as_tensor:tensor",
     TreeEnsembleRegressor},
};

}  // namespace

std::span<const OperatorRow> TreeOperators() { return kTreesRows; }

}  // namespace tailor::onnx
