#include "fusion/split_at_data_dependent_dims.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "fusion/node_class.h"
#include "graph/builders.h"
#include "graph/custom.h"
#include "graph/region_rules.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

using Symbols = std::set<SymbolId>;

void Collect(absl::Span<const DimExpr> dims, Symbols* symbols) {
  for (const DimExpr& dim : dims) {
    for (SymbolId symbol : dim.Symbols()) symbols->insert(symbol);
  }
}

// Symbols of the node's attributes and results.
Symbols MentionedBy(const Node& node) {
  Symbols symbols;
  for (const auto& [name, attribute] : node.attributes) {
    if (const Shape* dims = std::get_if<Shape>(&attribute)) Collect(*dims, &symbols);
  }
  for (const TensorType& type : node.results) Collect(type.shape, &symbols);
  return symbols;
}

bool Intersects(const Symbols& a, const Symbols& b) {
  return std::any_of(a.begin(), a.end(), [&](SymbolId symbol) { return b.contains(symbol); });
}

// Stage number of symbols that are known before the first stage runs.
constexpr int kAtInputs = -1;

class Splitter {
 public:
  explicit Splitter(const Graph& graph)
      : graph_(graph),
        needed_(graph.nodes().size()),
        left_out_(graph.nodes().size()),
        weights_(graph.nodes().size()),
        stage_(graph.nodes().size()) {}

  absl::StatusOr<std::vector<Graph>> Run();

 private:
  struct Stage {
    std::vector<NodeId> nodes;    // without binds
    std::vector<NodeId> sources;  // binds, loops and branches with data-dependent dims of later stages
    std::vector<size_t> outputs;
    std::vector<Assumption> assumptions;
    Symbols symbols;            // that the stage mentions
    std::vector<Value> handed;  // values of earlier stages that this stage or a later one reads
    absl::flat_hash_set<Value> is_handed;
  };

  // One dim size that a stage takes as an argument.
  struct DimSizeArgument {
    SymbolId symbol;
    Value count;  // operand of the bind that defines it; Value{} if the previous stage knows it
  };

  class StageGraph;

  // Marks the nodes that outputs and binds are computed from, and the nodes that define a dim size of one of these.
  void MarkNeeded() {
    Symbols mentioned;
    for (const Output& output : graph_.outputs()) needed_[output.value.node] = true;
    for (NodeId id = static_cast<NodeId>(needed_.size()) - 1; id >= 0; --id) {
      const Node& node = graph_.node(id);
      Symbols defines;
      if (node.op == OpKind::kWhile || node.op == OpKind::kIf) Collect(node.dims("shapes"), &defines);
      needed_[id] = needed_[id] || node.op == OpKind::kBind || HasEffects(node) || Intersects(defines, mentioned);
      if (!needed_[id]) continue;
      mentioned.merge(MentionedBy(node));
      for (Value operand : node.operands) needed_[operand.node] = true;
    }
  }

  // Loops and branches that no output needs do not run. Nodes that use dim sizes defined by them are dropped too.
  void MarkDropped() {
    for (NodeId id = 0; id < static_cast<NodeId>(left_out_.size()); ++id) {
      const Node& node = graph_.node(id);
      if (needed_[id]) continue;
      bool left_out = Intersects(MentionedBy(node), unknown_);
      for (Value operand : node.operands) left_out = left_out || Intersects(DimSizesOf(operand), unknown_);
      if (node.op == OpKind::kWhile || node.op == OpKind::kIf) {
        const Symbols defines = DefinedBy(node);
        left_out = left_out || !defines.empty();
        unknown_.insert(defines.begin(), defines.end());
      }
      left_out_[id] = left_out;
    }
  }

  // Constants, and views of constants without symbols. Each stage has its own copy: an argument would be no constant,
  // which kernels pack at compile time, there.
  void MarkWeights() {
    for (NodeId id = 0; id < static_cast<NodeId>(weights_.size()); ++id) {
      const Node& node = graph_.node(id);
      weights_[id] =
          node.op == OpKind::kConstant || (ClassOf(node) == FusionClass::kView && MentionedBy(node).empty() &&
                                           std::all_of(node.operands.begin(), node.operands.end(),
                                                       [&](Value operand) { return weights_[operand.node]; }));
    }
  }

  Symbols DimSizesOf(Value v) const {
    Symbols symbols;
    Collect(graph_.type(v).shape, &symbols);
    return symbols;
  }

  // The data-dependent dim sizes of the results of a loop or branch.
  Symbols DefinedBy(const Node& node) const {
    Symbols symbols;
    const std::vector<std::vector<bool>> told = DataDependentDims(graph_, node);
    for (size_t r = 0; r < told.size(); ++r) {
      for (size_t d = 0; d < told[r].size(); ++d) {
        if (told[r][d]) symbols.insert(*node.results[r].shape[d].symbol());
      }
    }
    return symbols;
  }

  // The first stage in which all of `symbols` are known. A symbol that no node defines is diagnosed elsewhere.
  int FirstThatKnows(const Symbols& symbols) const {
    int first = 0;
    for (SymbolId symbol : symbols) {
      if (const auto told = known_in_.find(symbol); told != known_in_.end()) first = std::max(first, told->second + 1);
    }
    return first;
  }

  // The first stage that can read the value.
  int FirstThatReads(Value v) const { return std::max(stage_[v.node], FirstThatKnows(DimSizesOf(v))); }

  // A symbol that no input binds is defined by the first bind, loop or branch that has it as a dim size.
  absl::Status FindStages() {
    stages_.resize(1);
    for (NodeId input : graph_.inputs()) {
      for (SymbolId symbol : DimSizesOf({input, 0})) known_in_.emplace(symbol, kAtInputs);
    }
    for (NodeId id = 0; id < static_cast<NodeId>(stage_.size()); ++id) {
      const Node& node = graph_.node(id);
      if (node.op == OpKind::kContinuation) return absl::InvalidArgumentError("continuation: is the compiler's own");
      if (left_out_[id]) continue;
      Symbols own;
      if (node.op == OpKind::kBind) own.insert(*node.dims("extent")[0].symbol());
      if (node.op == OpKind::kWhile || node.op == OpKind::kIf) own = DefinedBy(node);
      for (SymbolId symbol : own) {
        if (!known_in_.contains(symbol)) continue;
        return absl::InvalidArgumentError(absl::StrCat(InfoOf(node.op).text, " ", graph_.NameOf({id, 0}), ": symbol ",
                                                       graph_.DimText(DimExpr::Symbol(symbol)),
                                                       " has a value already"));
      }
      Symbols mentioned = MentionedBy(node);
      for (SymbolId symbol : own) mentioned.erase(symbol);
      int stage = FirstThatKnows(mentioned);
      for (Value operand : node.operands) stage = std::max(stage, FirstThatReads(operand));
      stage_[id] = stage;
      for (SymbolId symbol : own) known_in_.emplace(symbol, stage);
      // A data-dependent dim size needs a later stage, even if unused: that stage checks its range.
      stages_.resize(std::max<size_t>(stages_.size(), stage + (own.empty() ? 1 : 2)));
      if (!own.empty()) stages_[stage].sources.push_back(id);
      if (node.op != OpKind::kBind) stages_[stage].nodes.push_back(id);
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      stages_[FirstThatReads(graph_.outputs()[i].value)].outputs.push_back(i);
    }
    return absl::OkStatus();
  }

  // The value behind binds: a bind returns its operand.
  Value Resolve(Value v) const {
    while (graph_.node(v.node).op == OpKind::kBind) v = graph_.node(v.node).operands[0];
    return v;
  }

  // Passes `v` on to stage `to`. Weights are copied instead, except as the operand of a bind.
  void HandOn(Value v, int to, bool weights = false) {
    v = Resolve(v);
    if (stage_[v.node] >= to || (weights_[v.node] && !weights)) return;
    if (stages_[to].is_handed.insert(v).second) stages_[to].handed.push_back(v);
  }

  // The stage whose nodes define the symbol.
  int KnownIn(SymbolId symbol) const {
    const auto told = known_in_.find(symbol);
    return told == known_in_.end() ? kAtInputs : told->second;
  }

  void Mention(const Symbols& symbols, int k) {
    for (SymbolId symbol : symbols) {
      if (KnownIn(symbol) < k) stages_[k].symbols.insert(symbol);
    }
  }

  // Runs from the last stage to the first: each stage passes on what the next one needs.
  void FindArguments() {
    for (const Assumption& assumption : graph_.assumptions()) {
      Symbols pair;
      Collect({assumption.lhs, assumption.rhs}, &pair);
      if (Intersects(pair, unknown_)) continue;
      const int k = FirstThatKnows(pair);
      stages_[k].assumptions.push_back(assumption);
      Mention(pair, k);
    }
    for (int k = static_cast<int>(stages_.size()) - 1; k > 0; --k) FindArguments(k);
  }

  void FindArguments(int k) {
    Stage& stage = stages_[k];
    for (NodeId id : stage.nodes) {
      stage.symbols.merge(MentionedBy(graph_.node(id)));
      for (Value operand : graph_.node(id).operands) {
        Mention(DimSizesOf(operand), k);
        if (needed_[id]) HandOn(operand, k);
      }
    }
    for (size_t i : stage.outputs) HandOn(graph_.outputs()[i].value, k);
    if (k + 1 < static_cast<int>(stages_.size())) {
      Mention(stages_[k + 1].symbols, k);
      for (Value v : stages_[k + 1].handed) HandOn(v, k);
    }
    std::vector<Value> counts;
    for (NodeId id : stages_[k - 1].sources) {
      if (graph_.node(id).op != OpKind::kBind) continue;
      stage.symbols.insert(*graph_.node(id).dims("extent")[0].symbol());  // even if unused: its range is checked
      counts.push_back({id, 0});
    }
    size_t known;
    do {  // values passed on may mention more symbols
      known = stage.symbols.size() + stage.handed.size();
      for (Value v : stage.handed) Mention(DimSizesOf(v), k);
      for (NodeId id : stages_[k - 1].sources) ForwardKnown(id, k);
    } while (known != stage.symbols.size() + stage.handed.size());
    for (Value count : counts) HandOn(count, k, /*weights=*/true);
  }

  // Passes on the results of loop or branch `id` that bind dim sizes that stage `k` mentions.
  void ForwardKnown(NodeId id, int k) {
    const Node& node = graph_.node(id);
    for (int32_t r = 0; r < static_cast<int32_t>(node.results.size()); ++r) {
      for (const DimExpr& dim : node.results[r].shape) {
        const std::optional<SymbolId> symbol = dim.symbol();
        if (symbol && KnownIn(*symbol) == k - 1 && stages_[k].symbols.contains(*symbol)) HandOn({id, r}, k);
      }
    }
  }

  // The symbols of stage `k` that no value passed to it binds.
  std::vector<DimSizeArgument> DimSizeArguments(int k) const {
    std::map<SymbolId, Value> counts;
    for (NodeId id : stages_[k - 1].sources) {
      const Node& node = graph_.node(id);
      if (node.op == OpKind::kBind) counts[*node.dims("extent")[0].symbol()] = Resolve({id, 0});
    }
    std::vector<DimSizeArgument> arguments;
    for (SymbolId symbol : stages_[k].symbols) {
      const auto count = counts.find(symbol);
      if (count == counts.end() && KnownIn(symbol) >= k - 1)
        continue;  // bound by a value passed on, or defined by a loop of the stage
      arguments.push_back({symbol, count == counts.end() ? Value{} : count->second});
    }
    return arguments;
  }

  const Graph& graph_;
  std::vector<bool> needed_;
  std::vector<bool> left_out_;
  std::vector<bool> weights_;
  Symbols unknown_;                   // defined by loops and branches that no output needs
  std::vector<int> stage_;            // by node
  std::map<SymbolId, int> known_in_;  // the stage whose nodes define the symbol, or kAtInputs
  std::vector<Stage> stages_;
};

// Builds the graph of one stage.
class Splitter::StageGraph {
 public:
  StageGraph(const Splitter& all, int k)
      : all_(all), from_(all.graph_), stage_(all.stages_[k]), k_(k), graph_(k == 0 ? from_.name() : "continuation") {}

  absl::StatusOr<Graph> Build() {
    TAILOR_RETURN_IF_ERROR(AddSymbols());
    if (k_ > 0) TAILOR_RETURN_IF_ERROR(AddArguments());
    for (NodeId id : stage_.nodes) TAILOR_RETURN_IF_ERROR(AddNode(id));
    for (size_t i : stage_.outputs) {
      TAILOR_ASSIGN_OR_RETURN(const Value value, Copy(from_.outputs()[i].value));
      TAILOR_RETURN_IF_ERROR(graph_.AddOutput(from_.outputs()[i].name, value));
    }
    if (k_ + 1 < static_cast<int>(all_.stages_.size())) TAILOR_RETURN_IF_ERROR(AddContinuation());
    return std::move(graph_);
  }

 private:
  // The first stage has all symbols of the graph.
  absl::Status AddSymbols() {
    for (SymbolId symbol = 0; symbol < static_cast<SymbolId>(from_.symbols().size()); ++symbol) {
      if (k_ > 0 && !stage_.symbols.contains(symbol)) continue;
      TAILOR_ASSIGN_OR_RETURN(renamed_[symbol], graph_.AddSymbol(from_.symbol(symbol)));
    }
    for (const auto& [relation, lhs, rhs, what, assured] : stage_.assumptions) {
      TAILOR_RETURN_IF_ERROR(graph_.Assume({relation, Renamed(lhs), Renamed(rhs), what, assured}));
    }
    return absl::OkStatus();
  }

  DimExpr Renamed(const DimExpr& dim) const {
    if (k_ == 0) return dim;
    return dim.Substitute([&](SymbolId symbol) { return DimExpr::Symbol(renamed_.at(symbol)); });
  }
  Shape Renamed(Shape shape) const {
    for (DimExpr& dim : shape) dim = Renamed(dim);
    return shape;
  }

  std::string Unique(std::string name) {
    while (!names_.insert(name).second) name += "'";
    return name;
  }

  absl::Status AddArguments() {
    for (Value v : stage_.handed) {
      const TensorType& type = from_.type(v);
      TAILOR_ASSIGN_OR_RETURN(copies_[v],
                              graph_.AddInput(Unique(from_.NameOf(v).substr(1)), type.dtype, Renamed(type.shape)));
    }
    for (const DimSizeArgument& dim_size : all_.DimSizeArguments(k_)) {
      const std::string name = Unique(absl::StrCat("dim size ", from_.symbol(dim_size.symbol).name));
      const Shape shape = {Renamed(DimExpr::Symbol(dim_size.symbol))};
      TAILOR_RETURN_IF_ERROR(graph_.AddInput(name, DType::kU8, shape).status());
    }
    return absl::OkStatus();
  }

  absl::Status AddNode(NodeId id) {
    const Node& node = from_.node(id);
    NodeId copy;
    if (all_.weights_[id]) return absl::OkStatus();  // copied where they are read
    if (node.op == OpKind::kInput) {
      TAILOR_ASSIGN_OR_RETURN(const Value input,
                              graph_.AddInput(node.string("name"), node.dtype("dtype"), node.dims("shape")));
      copy = input.node;
    } else {
      std::vector<Value> operands;
      for (Value operand : node.operands) {
        TAILOR_ASSIGN_OR_RETURN(const Value value, Copy(operand));
        operands.push_back(value);
      }
      Attributes attributes = node.attributes;
      for (auto& [name, attribute] : attributes) {
        if (auto* dims = std::get_if<Shape>(&attribute)) *dims = Renamed(*dims);
      }
      TAILOR_ASSIGN_OR_RETURN(copy, graph_.Append(node.op, operands, std::move(attributes), node.regions));
    }
    graph_.SetNodeName(copy, node.name);
    for (int32_t r = 0; r < static_cast<int32_t>(node.results.size()); ++r) copies_[{id, r}] = {copy, r};
    return absl::OkStatus();
  }

  // A value that is neither in this stage nor passed to it is read only by nodes that no output needs. Zeros of its
  // type replace it, so that these nodes are verified; they are dropped later.
  absl::StatusOr<Value> Copy(Value v) {
    v = all_.Resolve(v);
    if (const auto copied = copies_.find(v); copied != copies_.end()) return copied->second;
    if (all_.weights_[v.node]) return CopyWeights(v);
    const TensorType& type = from_.type(v);
    TAILOR_ASSIGN_OR_RETURN(const Value zero, ScalarConstant(graph_, type.dtype, 0));
    TAILOR_ASSIGN_OR_RETURN(const NodeId zeros,
                            graph_.Append(OpKind::kBroadcast, {zero}, {{"shape", Renamed(type.shape)}}));
    return copies_[v] = Value{zeros, 0};
  }

  absl::StatusOr<Value> CopyWeights(Value v) {
    const Node& node = from_.node(v.node);
    Value copy;
    if (node.op == OpKind::kConstant) {
      TAILOR_ASSIGN_OR_RETURN(copy, graph_.AddConstant(node.string("name"), node.dtype("dtype"), node.dims("shape"),
                                                       from_.constant_data(v.node)));
    } else {
      TAILOR_ASSIGN_OR_RETURN(const Value operand, Copy(node.operands[0]));
      TAILOR_ASSIGN_OR_RETURN(copy.node, graph_.Append(node.op, {operand}, node.attributes));
    }
    graph_.SetNodeName(copy.node, node.name);
    return copies_[v] = copy;
  }

  absl::Status AddContinuation() {
    const std::vector<Value>& handed = all_.stages_[k_ + 1].handed;
    std::vector<Value> values;
    for (Value v : handed) {
      TAILOR_ASSIGN_OR_RETURN(const Value value, Copy(v));
      values.push_back(value);
    }
    Shape dim_sizes;
    std::vector<int64_t> counts, outputs;
    for (const DimSizeArgument& dim_size : all_.DimSizeArguments(k_ + 1)) {
      const bool counted = dim_size.count != Value{};
      dim_sizes.push_back(counted ? DimExpr(0) : Renamed(DimExpr::Symbol(dim_size.symbol)));
      counts.push_back(counted ? std::find(handed.begin(), handed.end(), dim_size.count) - handed.begin() : -1);
    }
    std::vector<std::pair<size_t, bool>> left;  // output number in the graph; whether a later stage computes it
    for (size_t k = k_; k < all_.stages_.size(); ++k) {
      for (size_t i : all_.stages_[k].outputs) left.emplace_back(i, k > static_cast<size_t>(k_));
    }
    std::sort(left.begin(), left.end());
    for (size_t i = 0; i < left.size(); ++i) {
      if (left[i].second) outputs.push_back(static_cast<int64_t>(i));
    }
    return graph_
        .Append(OpKind::kContinuation, values,
                {{"extents", std::move(dim_sizes)}, {"counts", std::move(counts)}, {"outputs", std::move(outputs)}})
        .status();
  }

  const Splitter& all_;
  const Graph& from_;
  const Stage& stage_;
  const int k_;
  Graph graph_;
  absl::flat_hash_map<SymbolId, SymbolId> renamed_;
  std::set<std::string> names_;
  absl::flat_hash_map<Value, Value> copies_;
};

absl::StatusOr<std::vector<Graph>> Splitter::Run() {
  MarkNeeded();
  MarkDropped();
  MarkWeights();
  TAILOR_RETURN_IF_ERROR(FindStages());
  std::vector<Graph> graphs;
  if (stages_.size() == 1 && unknown_.empty()) {
    graphs.push_back(graph_);
    return graphs;
  }
  FindArguments();
  for (int k = 0; k < static_cast<int>(stages_.size()); ++k) {
    TAILOR_ASSIGN_OR_RETURN(Graph graph, StageGraph(*this, k).Build());
    graphs.push_back(std::move(graph));
  }
  return graphs;
}

}  // namespace

absl::StatusOr<std::vector<Graph>> SplitAtDataDependentDims(const Graph& graph) { return Splitter(graph).Run(); }

}  // namespace tailor
