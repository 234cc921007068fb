#include "graph/region_rules.h"

#include <map>
#include <optional>

#include "graph/status_macros.h"

namespace tailor {
namespace {

std::vector<TensorType> InputTypes(const Graph& graph) {
  std::vector<TensorType> types;
  for (NodeId id : graph.inputs()) types.push_back(graph.type({id, 0}));
  return types;
}

std::vector<TensorType> OutputTypes(const Graph& graph) {
  std::vector<TensorType> types;
  for (const Output& output : graph.outputs()) types.push_back(graph.type(output.value));
  return types;
}

// A result type with dim sizes that may be data-dependent (nullopt).
struct OpenType {
  DType dtype;
  std::vector<std::optional<DimExpr>> shape;
};

absl::Status CheckRegionCount(const Application& op, size_t needed) {
  if (op.regions.size() == needed) return absl::OkStatus();
  return op.Error("has ", op.regions.size(), " regions, needs ", needed);
}

// Checks that the region's arguments accept the operands from `first` on.
absl::Status CheckArguments(const Application& op, const Region& region, const char* name, size_t first) {
  const Graph& graph = *region.graph;
  const std::vector<TensorType> arguments = InputTypes(graph);
  const size_t operands = op.operands.size() - first;
  if (arguments.size() != operands) {
    return op.Error("the ", name, " takes ", arguments.size(), " arguments, but ", operands, " values are given");
  }
  for (size_t i = 0; i < operands; ++i) {
    const TensorType &argument = arguments[i], &operand = op.operand(first + i);
    bool fits = argument.dtype == operand.dtype && argument.rank() == operand.rank();
    for (int d = 0; fits && d < argument.rank(); ++d) {
      const std::optional<int64_t> wanted = argument.shape[d].constant(), given = operand.shape[d].constant();
      fits = !wanted || !given || *wanted == *given;
    }
    if (fits) continue;
    return op.Error("argument ", i, " of the ", name, " is ", graph.TypeText(argument), ", but operand ",
                    op.Name(first + i), " is ", NameOf(operand.dtype), op.Text(operand.shape));
  }
  return absl::OkStatus();
}

// Dim sizes of the region's results over the operands' symbols, where these determine them.
std::vector<OpenType> ResultsOf(const Application& op, const Graph& region, size_t first) {
  std::map<SymbolId, DimExpr> known;
  const std::vector<TensorType> arguments = InputTypes(region);
  for (size_t i = 0; i < arguments.size(); ++i) {
    for (int d = 0; d < arguments[i].rank(); ++d) {
      const std::optional<SymbolId> symbol = arguments[i].shape[d].symbol();
      if (symbol) known.emplace(*symbol, op.operand(first + i).shape[d]);
    }
  }
  std::vector<OpenType> results;
  for (const TensorType& type : OutputTypes(region)) {
    OpenType open{type.dtype, {}};
    for (const DimExpr& dim : type.shape) {
      bool all = true;
      for (SymbolId symbol : dim.Symbols()) all = all && known.contains(symbol);
      open.shape.push_back(all ? std::optional(dim.Substitute([&](SymbolId id) { return known.at(id); }))
                               : std::nullopt);
    }
    results.push_back(std::move(open));
  }
  return results;
}

std::vector<OpenType> WhileResults(const Application& op) {
  const std::vector<TensorType> in = InputTypes(*op.regions[1].graph), out = OutputTypes(*op.regions[1].graph);
  std::vector<OpenType> results;
  for (size_t i = 0; i < in.size(); ++i) {
    OpenType open{in[i].dtype, {}};
    for (int d = 0; d < in[i].rank(); ++d) {
      open.shape.push_back(in[i].shape[d] == out[i].shape[d] ? std::optional(op.operand(i).shape[d]) : std::nullopt);
    }
    results.push_back(std::move(open));
  }
  return results;
}

std::vector<OpenType> IfResults(const Application& op) {
  std::vector<OpenType> results = ResultsOf(op, *op.regions[0].graph, 1);
  const std::vector<OpenType> others = ResultsOf(op, *op.regions[1].graph, 1);
  for (size_t r = 0; r < results.size(); ++r) {
    for (size_t d = 0; d < results[r].shape.size(); ++d) {
      if (results[r].shape[d] != others[r].shape[d]) results[r].shape[d] = std::nullopt;
    }
  }
  return results;
}

std::string DimSizeName(size_t result, size_t dim) { return absl::StrCat("dim size ", dim, " of result ", result); }

// Fills the open dim sizes from the attribute.
absl::StatusOr<std::vector<TensorType>> Close(const Application& op, const std::vector<OpenType>& open) {
  const Shape& given = op.attribute<Shape>("shapes");
  size_t count = 0, next = 0;
  for (const OpenType& type : open) count += type.shape.size();
  if (!given.empty() && given.size() != count) {
    return op.Error("attribute \"shapes\" has ", given.size(), " entries, but the results have ", count, " dim sizes");
  }
  std::vector<TensorType> types;
  for (size_t r = 0; r < open.size(); ++r) {
    TensorType type{open[r].dtype, {}};
    for (size_t d = 0; d < open[r].shape.size(); ++d) {
      const std::optional<DimExpr>& inferred = open[r].shape[d];
      const bool infers = given.empty() || given[next].constant() == -1;
      if (infers && !inferred) {
        return op.Error(DimSizeName(r, d), " is known only when the op has run; attribute \"shapes\" must name it");
      }
      const DimExpr& dim_size = infers ? *inferred : given[next];
      ++next;
      if (!dim_size.symbol() && inferred != dim_size) {
        return op.Error(DimSizeName(r, d), " is given as ", op.Text(dim_size), ", needs a symbol",
                        inferred ? absl::StrCat(" or ", op.Text(*inferred)) : "");
      }
      type.shape.push_back(dim_size);
    }
    types.push_back(std::move(type));
  }
  return types;
}

}  // namespace

absl::StatusOr<std::vector<TensorType>> WhileTypes(const Application& op) {
  TAILOR_RETURN_IF_ERROR(CheckRegionCount(op, 2));
  TAILOR_RETURN_IF_ERROR(CheckArguments(op, op.regions[0], "condition", 0));
  TAILOR_RETURN_IF_ERROR(CheckArguments(op, op.regions[1], "body", 0));
  if (OutputTypes(*op.regions[0].graph) != std::vector<TensorType>{{DType::kBool, {}}}) {
    return op.Error("the condition must return one bool[]");
  }
  const std::vector<TensorType> in = InputTypes(*op.regions[1].graph), out = OutputTypes(*op.regions[1].graph);
  bool alike = in.size() == out.size();
  for (size_t i = 0; alike && i < in.size(); ++i) {
    alike = in[i].dtype == out[i].dtype && in[i].rank() == out[i].rank();
  }
  if (!alike) return op.Error("the body must return the types of the carried values");
  return Close(op, WhileResults(op));
}

absl::StatusOr<std::vector<TensorType>> IfTypes(const Application& op) {
  TAILOR_RETURN_IF_ERROR(CheckRegionCount(op, 2));
  if (op.operand(0) != TensorType{DType::kBool, {}}) {
    return op.Error("operand ", op.Name(0), " is ", NameOf(op.operand(0).dtype), op.Text(op.operand(0).shape),
                    ", needs bool[]");
  }
  TAILOR_RETURN_IF_ERROR(CheckArguments(op, op.regions[0], "then branch", 1));
  TAILOR_RETURN_IF_ERROR(CheckArguments(op, op.regions[1], "else branch", 1));
  const std::vector<TensorType> results = OutputTypes(*op.regions[0].graph);
  const std::vector<TensorType> others = OutputTypes(*op.regions[1].graph);
  if (results.size() != others.size()) {
    return op.Error("the then branch returns ", results.size(), " values, the else branch ", others.size());
  }
  for (size_t r = 0; r < results.size(); ++r) {
    if (results[r].dtype == others[r].dtype && results[r].rank() == others[r].rank()) continue;
    return op.Error("the branches return different types of result ", r, ": ", NameOf(results[r].dtype), " of rank ",
                    results[r].rank(), " and ", NameOf(others[r].dtype), " of rank ", others[r].rank());
  }
  return Close(op, IfResults(op));
}

std::vector<std::vector<bool>> DataDependentDims(const Graph& graph, const Node& node) {
  std::vector<TensorType> operands;
  for (Value v : node.operands) operands.push_back(graph.type(v));
  const auto name = [&](SymbolId id) { return graph.symbol(id).name; };
  const std::function<std::string(SymbolId)> symbol_name = name;
  const Application op{InfoOf(node.op), operands, {}, node.attributes, node.regions, symbol_name};
  const std::vector<OpenType> inferred = node.op == OpKind::kWhile ? WhileResults(op) : IfResults(op);
  std::vector<std::vector<bool>> told;
  for (size_t r = 0; r < inferred.size(); ++r) {
    std::vector<bool>& dims = told.emplace_back();
    for (size_t d = 0; d < inferred[r].shape.size(); ++d) {
      dims.push_back(inferred[r].shape[d] != node.results[r].shape[d]);
    }
  }
  return told;
}

absl::StatusOr<std::vector<TensorType>> ContinuationTypes(const Application& op) {
  TAILOR_RETURN_IF_ERROR(CheckRegionCount(op, 0));
  const auto& dim_sizes = op.attribute<Shape>("extents");
  const auto& counts = op.attribute<std::vector<int64_t>>("counts");
  if (counts.size() != dim_sizes.size()) return op.Error("attributes \"dim sizes\" and \"counts\" differ in length");
  for (int64_t count : counts) {
    if (count < 0) continue;
    const bool scalar =
        count < static_cast<int64_t>(op.operands.size()) && op.operand(count) == TensorType{DType::kI64, {}};
    if (!scalar) return op.Error("attribute \"counts\" names operand ", count, ", which is no i64[]");
  }
  return std::vector<TensorType>();
}

}  // namespace tailor
