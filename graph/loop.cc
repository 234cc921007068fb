#include "graph/loop.h"

#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// Translates dim sizes of the arguments to one region's own symbols.
class RegionDims {
 public:
  RegionDims(const Graph& outer, Graph* region) : outer_(outer), region_(*region) {}

  // Call first, for every argument: adds the symbols that are by themselves a dim size.
  absl::Status AddSymbols(const Shape& shape) {
    for (const DimExpr& dim : shape) {
      if (!dim.symbol() || symbols_.contains(*dim.symbol())) continue;
      TAILOR_ASSIGN_OR_RETURN(SymbolId id, region_.AddSymbol(outer_.symbol(*dim.symbol())));
      symbols_.emplace(*dim.symbol(), DimExpr::Symbol(id));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Shape> Mirror(const Shape& shape) {
    Shape mirrored;
    for (const DimExpr& dim : shape) {
      TAILOR_ASSIGN_OR_RETURN(DimExpr dim_size, Mirror(dim));
      mirrored.push_back(std::move(dim_size));
    }
    return mirrored;
  }

 private:
  absl::StatusOr<DimExpr> Mirror(const DimExpr& dim) {
    bool known = true;
    for (SymbolId symbol : dim.Symbols()) known = known && symbols_.contains(symbol);
    if (known) return dim.Substitute([&](SymbolId symbol) { return symbols_.at(symbol); });
    if (auto it = whole_.find(dim); it != whole_.end()) return it->second;
    std::string name = absl::StrCat("d", whole_.size());
    while (region_.FindSymbol(name)) name += "_";
    TAILOR_ASSIGN_OR_RETURN(SymbolId id, region_.AddSymbol({.name = name}));
    return whole_.emplace(dim, DimExpr::Symbol(id)).first->second;
  }

  const Graph& outer_;
  Graph& region_;
  std::map<SymbolId, DimExpr> symbols_;
  std::map<DimExpr, DimExpr> whole_;  // region symbols for expressions over symbols that no argument binds
};

absl::Status AddArguments(const Graph& outer, const std::vector<Loop::Operand>& operands, Graph* region) {
  RegionDims dims(outer, region);
  for (const Loop::Operand& operand : operands) {
    TAILOR_RETURN_IF_ERROR(dims.AddSymbols(outer.type(operand.value).shape));
  }
  for (const Loop::Operand& operand : operands) {
    const TensorType& type = outer.type(operand.value);
    TAILOR_ASSIGN_OR_RETURN(Shape shape, dims.Mirror(type.shape));
    TAILOR_RETURN_IF_ERROR(region->AddInput(operand.name, type.dtype, std::move(shape)).status());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Loop> Loop::Create(Graph* graph, std::vector<Operand> carried, const std::vector<Operand>& read) {
  const auto is_constant = [&](Value v) { return graph->node(v.node).op == OpKind::kConstant; };
  size_t argument = carried.size();
  for (const Operand& operand : read) {
    if (!is_constant(operand.value)) carried.push_back(operand);
  }
  Loop loop(graph);
  TAILOR_RETURN_IF_ERROR(AddArguments(*graph, carried, &loop.condition_));
  TAILOR_RETURN_IF_ERROR(AddArguments(*graph, carried, &loop.body_));
  for (const Operand& operand : carried) loop.operands_.push_back(operand.value);
  for (const Operand& operand : read) {
    if (!is_constant(operand.value)) {
      loop.read_.push_back(loop.carried(argument++));
      continue;
    }
    const Node& node = graph->node(operand.value.node);
    TAILOR_ASSIGN_OR_RETURN(Value constant, loop.body_.AddConstant(node.name, node.dtype("dtype"), node.dims("shape"),
                                                                   graph->constant_data(operand.value.node)));
    loop.read_.push_back(constant);
  }
  return loop;
}

absl::StatusOr<std::vector<Value>> Loop::Finish(Value go_on, std::vector<Value> next) && {
  for (size_t i = next.size(); i < operands_.size(); ++i) next.push_back(carried(i));
  TAILOR_RETURN_IF_ERROR(condition_.AddOutput("go_on", go_on));
  for (size_t i = 0; i < next.size(); ++i) {
    TAILOR_RETURN_IF_ERROR(body_.AddOutput(body_.node(static_cast<NodeId>(i)).name, next[i]));
  }
  std::vector<Region> regions;
  regions.push_back({std::make_shared<const Graph>(std::move(condition_))});
  regions.push_back({std::make_shared<const Graph>(std::move(body_))});
  TAILOR_ASSIGN_OR_RETURN(NodeId node, graph_.Append(OpKind::kWhile, operands_, {}, std::move(regions)));
  std::vector<Value> results;
  for (size_t i = 0; i < operands_.size(); ++i) results.push_back({node, static_cast<int32_t>(i)});
  return results;
}

}  // namespace tailor
