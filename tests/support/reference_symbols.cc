#include "tests/support/reference_symbols.h"

#include <algorithm>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "graph/status_macros.h"

namespace tailor::reference {
namespace {

const Shape& InputShape(const Graph& graph, size_t input) { return graph.type({graph.inputs()[input], 0}).shape; }

std::string InputText(const Graph& graph, size_t input, size_t dim) {
  return absl::StrCat("input \"", graph.node(graph.inputs()[input]).string("name"), "\" dim ", dim);
}

// Solves the input's dims of the form c*S + d. Lone symbols come first: they need no division.
absl::Status Solve(const Graph& graph, const std::vector<Dims>& inputs, bool lone, std::vector<int64_t>* symbols) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = InputShape(graph, i);
    for (size_t d = 0; d < shape.size(); ++d) {
      const std::optional<LinearSymbol> linear = AsLinear(shape[d]);
      if (!linear || lone != shape[d].symbol().has_value()) continue;
      int64_t& symbol = (*symbols)[linear->symbol];
      if (symbol != kUnbound) continue;
      const int64_t multiple = inputs[i][d] - linear->offset;
      if (multiple < 0 || multiple % linear->coefficient != 0) {
        return Refused(InputText(graph, i, d), " is ", inputs[i][d], ", not ", graph.DimText(shape[d]));
      }
      symbol = multiple / linear->coefficient;
    }
  }
  return absl::OkStatus();
}

// Symbols that an assumed equality gives as an expression of others.
void SolveAssumed(const Graph& graph, std::vector<int64_t>* symbols) {
  for (const auto& [relation, a, b, what, assured] : graph.assumptions()) {
    if (relation != Assumption::Relation::kEqual) continue;
    for (const auto& [lone, other] : {std::pair(a, b), std::pair(b, a)}) {
      const auto symbol = lone.symbol();
      if (!symbol || (*symbols)[*symbol] != kUnbound) continue;
      if (const auto value = EvaluateDim(other, *symbols); value.ok() && *value >= 0) (*symbols)[*symbol] = *value;
    }
  }
}

}  // namespace

std::optional<LinearSymbol> AsLinear(const DimExpr& dim) {
  LinearSymbol linear;
  for (const DimExpr::Term& term : dim.terms()) {
    if (term.factors.empty()) {
      linear.offset = term.coefficient;
      continue;
    }
    const DimExpr::Factor& factor = term.factors[0];
    const bool symbol = factor.atom->kind == DimExpr::AtomKind::kSymbol && factor.power == 1;
    if (term.factors.size() > 1 || !symbol || linear.symbol >= 0) return std::nullopt;
    linear.symbol = factor.atom->symbol;
    linear.coefficient = term.coefficient;
  }
  if (linear.coefficient < 1) return std::nullopt;
  return linear;
}

std::vector<std::optional<NodeId>> SymbolSources(const Graph& graph) {
  std::vector<std::optional<NodeId>> sources(graph.symbols().size());
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    const bool bind = node.op == OpKind::kBind;
    if (!bind && node.op != OpKind::kWhile && node.op != OpKind::kIf) continue;
    for (const DimExpr& dim : node.dims(bind ? "extent" : "shapes")) {
      const auto symbol = dim.symbol();
      if (symbol && !sources[*symbol]) sources[*symbol] = id;
    }
  }
  for (NodeId id : graph.inputs()) {
    for (const DimExpr& dim : graph.type({id, 0}).shape) {
      for (SymbolId symbol : dim.Symbols()) sources[symbol] = std::nullopt;
    }
  }
  return sources;
}

std::vector<SymbolId> SymbolsOf(const Node& node) {
  std::vector<SymbolId> symbols;
  const auto append = [&](const Shape& shape) {
    for (const DimExpr& dim : shape) {
      for (SymbolId symbol : dim.Symbols()) symbols.push_back(symbol);
    }
  };
  for (const TensorType& type : node.results) append(type.shape);
  for (const auto& [name, attribute] : node.attributes) {
    if (const auto* shape = std::get_if<Shape>(&attribute)) append(*shape);
  }
  return symbols;
}

absl::StatusOr<std::vector<int64_t>> BindInputs(const Graph& graph, const std::vector<Dims>& inputs) {
  std::vector<int64_t> symbols(graph.symbols().size(), kUnbound);
  for (bool lone : {true, false}) TAILOR_RETURN_IF_ERROR(Solve(graph, inputs, lone, &symbols));
  SolveAssumed(graph, &symbols);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = InputShape(graph, i);
    for (size_t d = 0; d < shape.size(); ++d) {
      TAILOR_ASSIGN_OR_RETURN(const int64_t dim_size, EvaluateDim(shape[d], symbols));
      if (dim_size == inputs[i][d]) continue;
      return Refused(InputText(graph, i, d), " is ", inputs[i][d], ", but ", graph.DimText(shape[d]), " is ", dim_size);
    }
  }
  TAILOR_RETURN_IF_ERROR(CheckSymbols(graph, symbols));
  return symbols;
}

absl::Status BindShape(const Graph& graph, const Shape& shape, const Dims& dims, std::vector<int64_t>* symbols) {
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto symbol = shape[d].symbol();
    if (symbol && dims[d] < 0) return Refused(graph.DimText(shape[d]), " is ", dims[d]);
    if (symbol && (*symbols)[*symbol] == kUnbound) (*symbols)[*symbol] = dims[d];
    TAILOR_ASSIGN_OR_RETURN(const int64_t dim_size, EvaluateDim(shape[d], *symbols));
    if (dim_size != dims[d]) return Refused(graph.DimText(shape[d]), " is ", dim_size, ", not ", dims[d]);
  }
  return absl::OkStatus();
}

absl::Status CheckSymbols(const Graph& graph, const std::vector<int64_t>& symbols) {
  for (size_t i = 0; i < symbols.size(); ++i) {
    const SymbolInfo& info = graph.symbol(static_cast<SymbolId>(i));
    if (symbols[i] == kUnbound) continue;
    if (symbols[i] < info.min || symbols[i] > info.max || symbols[i] % info.multiple_of != 0) {
      return Refused(info.name, " is ", symbols[i]);
    }
  }
  for (const auto& [relation, a, b, what, assured] : graph.assumptions()) {
    const auto lhs = EvaluateDim(a, symbols), rhs = EvaluateDim(b, symbols);
    if (absl::IsNotFound(lhs.status()) || absl::IsNotFound(rhs.status())) continue;
    TAILOR_RETURN_IF_ERROR(lhs.status());
    TAILOR_RETURN_IF_ERROR(rhs.status());
    const bool holds = relation == Assumption::Relation::kEqual ? *lhs == *rhs : *lhs >= *rhs;
    if (!holds) return Refused("assumption: ", *lhs, " and ", *rhs);
  }
  return absl::OkStatus();
}

}  // namespace tailor::reference
