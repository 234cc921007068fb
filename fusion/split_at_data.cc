#include "fusion/split_at_data.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/builders.h"
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

class Splitter {
 public:
  explicit Splitter(const Graph& graph)
      : graph_(graph),
        needed_(graph.nodes().size()),
        left_out_(graph.nodes().size()),
        waits_(graph.nodes().size()),
        rest_("rest") {}

  absl::StatusOr<Graph> Run() {
    FindWhatIsNeeded();
    FindWhatIsLeftOut();
    TAILOR_RETURN_IF_ERROR(FindWhatWaits());
    if (told_.empty() && untold_.empty()) return graph_;
    if (!told_.empty()) {
      FindArguments();
      TAILOR_RETURN_IF_ERROR(BuildRest());
    }
    return BuildMain();
  }

 private:
  // What outputs and binds are computed from, and what tells an extent that one of these mentions.
  void FindWhatIsNeeded() {
    Symbols mentioned;
    for (const Output& output : graph_.outputs()) needed_[output.value.node] = true;
    for (NodeId id = static_cast<NodeId>(needed_.size()) - 1; id >= 0; --id) {
      const Node& node = graph_.node(id);
      Symbols tells;
      if (node.op == OpKind::kWhile || node.op == OpKind::kIf) Collect(node.dims("shapes"), &tells);
      needed_[id] = needed_[id] || node.op == OpKind::kBind || Intersects(tells, mentioned);
      if (!needed_[id]) continue;
      mentioned.merge(MentionedBy(node));
      for (Value operand : node.operands) needed_[operand.node] = true;
    }
  }

  // Loops and branches that no output needs do not run: what speaks of extents that they would tell goes with them.
  void FindWhatIsLeftOut() {
    for (NodeId id = 0; id < static_cast<NodeId>(left_out_.size()); ++id) {
      const Node& node = graph_.node(id);
      if (needed_[id]) continue;
      bool left_out = Intersects(MentionedBy(node), untold_);
      for (Value operand : node.operands) {
        Symbols extents;
        Collect(graph_.type(operand).shape, &extents);
        left_out = left_out || Intersects(extents, untold_);
      }
      if (node.op == OpKind::kWhile || node.op == OpKind::kIf) {
        const Symbols tells = ToldBy(node);
        left_out = left_out || !tells.empty();
        untold_.insert(tells.begin(), tells.end());
      }
      left_out_[id] = left_out;
    }
  }

  // Extents of its results that a loop or branch tells.
  Symbols ToldBy(const Node& node) const {
    Symbols symbols;
    const std::vector<std::vector<bool>> told = ToldExtents(graph_, node);
    for (size_t r = 0; r < told.size(); ++r) {
      for (size_t d = 0; d < told[r].size(); ++d) {
        if (told[r][d]) symbols.insert(*node.results[r].shape[d].symbol());
      }
    }
    return symbols;
  }

  // A symbol that no input has is told by the first bind, or loop or branch result, that has it as an extent.
  absl::Status FindWhatWaits() {
    Symbols known;
    for (NodeId input : graph_.inputs()) Collect(graph_.type({input, 0}).shape, &known);
    for (NodeId id = 0; id < static_cast<NodeId>(waits_.size()); ++id) {
      const Node& node = graph_.node(id);
      if (node.op == OpKind::kRest) return absl::InvalidArgumentError("rest: is the compiler's own");
      if (left_out_[id]) continue;
      Symbols own;
      if (node.op == OpKind::kBind) own.insert(*node.dims("extent")[0].symbol());
      if (node.op == OpKind::kWhile || node.op == OpKind::kIf) own = ToldBy(node);
      for (SymbolId symbol : own) {
        if (!known.contains(symbol)) continue;
        return absl::InvalidArgumentError(absl::StrCat(InfoOf(node.op).text, " ", graph_.NameOf({id, 0}), ": symbol ",
                                                       graph_.DimText(DimExpr::Symbol(symbol)),
                                                       " has a value already"));
      }
      Symbols mentioned = MentionedBy(node);
      for (SymbolId symbol : own) mentioned.erase(symbol);
      bool waits = Intersects(mentioned, told_) || Intersects(mentioned, told_later_);
      for (Value operand : node.operands) {
        Symbols extents;
        Collect(graph_.type(operand).shape, &extents);
        waits = waits || waits_[operand.node] || Intersects(extents, told_);
      }
      waits_[id] = waits;
      (waits ? told_later_ : told_).insert(own.begin(), own.end());
      known.insert(own.begin(), own.end());
    }
    return absl::OkStatus();
  }

  bool Waits(Value v) const {
    Symbols extents;
    Collect(graph_.type(v).shape, &extents);
    return waits_[v.node] || Intersects(extents, told_);
  }

  // What a bind returns is its operand.
  Value Resolve(Value v) const {
    while (graph_.node(v.node).op == OpKind::kBind && !waits_[v.node]) v = graph_.node(v.node).operands[0];
    return v;
  }

  void HandOn(Value v, bool constants = false) {
    v = Resolve(v);
    if (waits_[v.node] || (graph_.node(v.node).op == OpKind::kConstant && !constants)) return;
    if (std::find(handed_.begin(), handed_.end(), v) == handed_.end()) handed_.push_back(v);
  }

  // What tells the extents that the rest speaks of.
  void HandOnTellers() {
    for (NodeId id = 0; id < static_cast<NodeId>(waits_.size()); ++id) {
      const Node& node = graph_.node(id);
      if (waits_[id] || left_out_[id]) continue;
      if (node.op == OpKind::kBind) {  // even where nothing has the extent: the rest checks its range
        symbols_.insert(*node.dims("extent")[0].symbol());
        counts_[*node.dims("extent")[0].symbol()] = Resolve({id, 0});
      }
      for (int32_t r = 0; r < static_cast<int32_t>(node.results.size()); ++r) {
        for (const DimExpr& dim : node.results[r].shape) {
          const std::optional<SymbolId> symbol = dim.symbol();
          if (symbol && told_.contains(*symbol) && symbols_.contains(*symbol)) HandOn({id, r});
        }
      }
    }
  }

  // What the rest reads of what comes before it, and the symbols that it speaks of.
  void FindArguments() {
    for (NodeId id = 0; id < static_cast<NodeId>(waits_.size()); ++id) {
      if (!waits_[id]) continue;
      symbols_.merge(MentionedBy(graph_.node(id)));
      for (Value operand : graph_.node(id).operands) {
        Collect(graph_.type(operand).shape, &symbols_);
        if (needed_[id]) HandOn(operand);
      }
    }
    for (const Output& output : graph_.outputs()) {
      if (Waits(output.value)) HandOn(output.value);
    }
    for (const auto& [a, b] : graph_.assumed_equal()) {
      Symbols pair;
      Collect({a, b}, &pair);
      if (Intersects(pair, told_) && !Intersects(pair, untold_)) symbols_.merge(pair);
    }
    size_t known;
    do {  // what is handed on may have more symbols
      known = symbols_.size() + handed_.size();
      for (Value v : handed_) Collect(graph_.type(v).shape, &symbols_);
      HandOnTellers();
    } while (known != symbols_.size() + handed_.size());
    for (const auto& [symbol, count] : counts_) HandOn(count, /*constants=*/true);
  }

  DimExpr Renamed(const DimExpr& dim) const {
    return dim.Substitute([&](SymbolId symbol) { return DimExpr::Symbol(renamed_.at(symbol)); });
  }
  Shape Renamed(Shape shape) const {
    for (DimExpr& dim : shape) dim = Renamed(dim);
    return shape;
  }

  std::string ArgumentName(Value v) {
    std::string name = graph_.NameOf(v).substr(1);
    while (!names_.insert(name).second) name += "'";
    return name;
  }

  absl::Status AddArguments() {
    for (SymbolId symbol : symbols_) {
      TAILOR_ASSIGN_OR_RETURN(renamed_[symbol], rest_.AddSymbol(graph_.symbol(symbol)));
    }
    for (Value v : handed_) {
      const TensorType& type = graph_.type(v);
      TAILOR_ASSIGN_OR_RETURN(in_rest_[v], rest_.AddInput(ArgumentName(v), type.dtype, Renamed(type.shape)));
    }
    for (SymbolId symbol : symbols_) {
      const auto count = counts_.find(symbol);
      const bool counted = count != counts_.end();
      if (told_later_.contains(symbol)) continue;
      if (!counted && told_.contains(symbol)) continue;  // a handed result has it
      std::string name = absl::StrCat("extent ", graph_.symbol(symbol).name);
      while (!names_.insert(name).second) name += "'";
      TAILOR_RETURN_IF_ERROR(rest_.AddInput(name, DType::kU8, {Renamed(DimExpr::Symbol(symbol))}).status());
      extents_.push_back(counted ? DimExpr(0) : DimExpr::Symbol(symbol));
      count_operands_.push_back(counted ? std::find(handed_.begin(), handed_.end(), count->second) - handed_.begin()
                                        : -1);
    }
    return absl::OkStatus();
  }

  // Appends something of a type to `graph`, for what is not there since only nodes read it that no output needs: they
  // are checked like any other, and then left out.
  static absl::StatusOr<Value> StandIn(Graph& graph, DType dtype, const Shape& shape) {
    TAILOR_ASSIGN_OR_RETURN(const Value zero, ScalarConstant(graph, dtype, 0));
    TAILOR_ASSIGN_OR_RETURN(const NodeId zeros, graph.Append(OpKind::kBroadcast, {zero}, {{"shape", shape}}));
    return Value{zeros, 0};
  }

  absl::StatusOr<Value> InRest(Value v) {
    v = Resolve(v);
    auto [it, added] = in_rest_.try_emplace(v);
    if (!added) return it->second;
    const Node& node = graph_.node(v.node);
    if (node.op != OpKind::kConstant) {
      const TensorType& type = graph_.type(v);
      TAILOR_ASSIGN_OR_RETURN(it->second, StandIn(rest_, type.dtype, Renamed(type.shape)));
      return it->second;
    }
    TAILOR_ASSIGN_OR_RETURN(it->second, rest_.AddConstant(node.string("name"), node.dtype("dtype"), node.dims("shape"),
                                                          graph_.constant_data(v.node)));
    return it->second;
  }

  absl::Status BuildRest() {
    TAILOR_RETURN_IF_ERROR(AddArguments());
    for (const auto& [a, b] : graph_.assumed_equal()) {
      Symbols pair;
      Collect({a, b}, &pair);
      if (!Intersects(pair, told_) || Intersects(pair, untold_)) continue;
      TAILOR_RETURN_IF_ERROR(rest_.AssumeEqual(Renamed(a), Renamed(b)));
    }
    for (NodeId id = 0; id < static_cast<NodeId>(waits_.size()); ++id) {
      if (!waits_[id]) continue;
      const Node& node = graph_.node(id);
      std::vector<Value> operands;
      for (Value operand : node.operands) {
        TAILOR_ASSIGN_OR_RETURN(Value value, InRest(operand));
        operands.push_back(value);
      }
      Attributes attributes = node.attributes;
      for (auto& [name, attribute] : attributes) {
        if (auto* dims = std::get_if<Shape>(&attribute)) *dims = Renamed(*dims);
      }
      TAILOR_ASSIGN_OR_RETURN(NodeId copy, rest_.Append(node.op, operands, std::move(attributes), node.regions));
      rest_.SetNodeName(copy, node.name);
      for (int32_t r = 0; r < static_cast<int32_t>(node.results.size()); ++r) in_rest_[{id, r}] = {copy, r};
    }
    for (const Output& output : graph_.outputs()) {
      if (!Waits(output.value)) continue;
      TAILOR_ASSIGN_OR_RETURN(Value value, InRest(output.value));
      TAILOR_RETURN_IF_ERROR(rest_.AddOutput(output.name, value));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Graph> BuildMain() {
    Graph main(graph_.name());
    for (const SymbolInfo& symbol : graph_.symbols()) TAILOR_RETURN_IF_ERROR(main.AddSymbol(symbol).status());
    for (const auto& [a, b] : graph_.assumed_equal()) {
      Symbols pair;
      Collect({a, b}, &pair);
      if (Intersects(pair, told_) || Intersects(pair, untold_)) continue;
      TAILOR_RETURN_IF_ERROR(main.AssumeEqual(a, b));
    }
    std::map<Value, Value> copies;
    for (NodeId id = 0; id < static_cast<NodeId>(waits_.size()); ++id) {
      const Node& node = graph_.node(id);
      if (waits_[id] || left_out_[id] || node.op == OpKind::kBind) continue;
      Value copy;
      if (node.op == OpKind::kInput) {
        TAILOR_ASSIGN_OR_RETURN(copy, main.AddInput(node.string("name"), node.dtype("dtype"), node.dims("shape")));
      } else if (node.op == OpKind::kConstant) {
        TAILOR_ASSIGN_OR_RETURN(copy, main.AddConstant(node.string("name"), node.dtype("dtype"), node.dims("shape"),
                                                       graph_.constant_data(id)));
      } else {
        std::vector<Value> operands;
        for (Value operand : node.operands) {
          auto [it, added] = copies.try_emplace(Resolve(operand));
          if (added) {
            const TensorType& type = graph_.type(operand);
            TAILOR_ASSIGN_OR_RETURN(it->second, StandIn(main, type.dtype, type.shape));
          }
          operands.push_back(it->second);
        }
        TAILOR_ASSIGN_OR_RETURN(copy.node, main.Append(node.op, operands, node.attributes, node.regions));
      }
      main.SetNodeName(copy.node, node.name);
      for (int32_t r = 0; r < static_cast<int32_t>(node.results.size()); ++r) copies[{id, r}] = {copy.node, r};
    }
    std::vector<int64_t> numbers;
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Output& output = graph_.outputs()[i];
      if (Waits(output.value)) {
        numbers.push_back(static_cast<int64_t>(i));
      } else {
        TAILOR_RETURN_IF_ERROR(main.AddOutput(output.name, copies.at(Resolve(output.value))));
      }
    }
    if (told_.empty()) return main;
    std::vector<Value> values;
    for (Value v : handed_) values.push_back(copies.at(v));
    Attributes attributes;
    attributes.emplace("extents", extents_);
    attributes.emplace("counts", count_operands_);
    attributes.emplace("outputs", std::move(numbers));
    TAILOR_RETURN_IF_ERROR(
        main.Append(OpKind::kRest, values, std::move(attributes), {{std::make_shared<const Graph>(std::move(rest_))}})
            .status());
    return main;
  }

  const Graph& graph_;
  Symbols told_;        // by data, before the rest
  Symbols told_later_;  // by nodes of the rest
  Symbols untold_;      // by loops and branches that no output needs
  std::vector<bool> needed_;
  std::vector<bool> left_out_;
  std::vector<bool> waits_;  // nodes that need what data tells
  Symbols symbols_;          // that the rest mentions
  std::map<SymbolId, Value> counts_;
  std::vector<Value> handed_;
  std::vector<DimExpr> extents_;
  std::vector<int64_t> count_operands_;
  Graph rest_;
  std::map<SymbolId, SymbolId> renamed_;
  std::set<std::string> names_;
  std::map<Value, Value> in_rest_;
};

}  // namespace

absl::StatusOr<Graph> SplitAtData(const Graph& graph) { return Splitter(graph).Run(); }

}  // namespace tailor
