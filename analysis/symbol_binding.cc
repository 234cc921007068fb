#include "analysis/symbol_binding.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/dim_terms.h"
#include "analysis/interval.h"
#include "graph/region_rules.h"

namespace tailor {
namespace {

using Relation = ShapeCheck::Relation;

const Shape& InputShape(const Graph& graph, int input) { return graph.type({graph.inputs()[input], 0}).shape; }

// Cost of solving a symbol by this binding; lower is better.
int BindingCost(const SymbolBinding& binding) { return binding.coefficient != 1 ? 2 : binding.offset != 0 ? 1 : 0; }

const SymbolBinding* FindBinding(absl::Span<const SymbolBinding> bindings, SymbolId symbol) {
  auto it = std::find_if(bindings.begin(), bindings.end(), [&](const SymbolBinding& b) { return b.symbol == symbol; });
  return it != bindings.end() ? &*it : nullptr;
}

// ` from input "ids" dim 1`, or ` with B from input "ids" dim 0 and S from input "ids" dim 1`.
std::string OriginText(const Graph& graph, absl::Span<const SymbolBinding> bindings, const DimExpr& e) {
  std::vector<std::string> origins;
  for (SymbolId symbol : e.Symbols()) {
    const SymbolBinding* binding = FindBinding(bindings, symbol);
    if (binding == nullptr) continue;
    std::string origin = InputDimText(graph, binding->input, binding->dim);
    if (e.symbol()) return absl::StrCat(" from ", origin);
    origins.push_back(absl::StrCat(graph.symbol(symbol).name, " from ", origin));
  }
  return origins.empty() ? "" : absl::StrCat(" with ", absl::StrJoin(origins, " and "));
}

// Appends the checks that a symbol can be solved: the dim is c*S + d for some S >= 0.
void AppendBindingChecks(const Graph& graph, const SymbolBinding& b, std::vector<ShapeCheck>* checks) {
  std::string where = InputDimText(graph, b.input, b.dim);
  DimExpr e = DimExpr(b.coefficient) * DimExpr::Symbol(b.symbol) + b.offset;
  std::string form = graph.DimText(e);
  ShapeCheck check{Relation::kAtLeast, InputShape(graph, b.input)[b.dim], b.offset, b.input, b.dim, "", ""};
  if (b.offset > 0) {
    check.message = absl::StrCat(where, " is {lhs}, but ", form, " is at least {rhs}");
    checks->push_back(check);
  }
  if (b.coefficient == 1) return;
  bool multiple = b.offset == 0;
  check.relation = multiple ? Relation::kMultipleOf : Relation::kEqual;
  check.rhs = multiple ? DimExpr(b.coefficient) : e;
  check.message = multiple ? absl::StrCat(where, " is {lhs}, but ", form, " is a multiple of {rhs}")
                           : absl::StrCat(where, " is {lhs}, but must have the form ", form);
  checks->push_back(check);
}

ShapeCheck InputDimCheck(const Graph& graph, absl::Span<const SymbolBinding> bindings, const FactStore& store,
                         int input, int dim) {
  const DimExpr& dim_size = InputShape(graph, input)[dim];
  ShapeCheck check{Relation::kEqual, dim_size, store.OverBoundSymbols(dim_size), input, dim, "", ""};
  std::string where = InputDimText(graph, input, dim);
  check.message = dim_size.constant() ? absl::StrCat(where, " is {lhs}, but must be {rhs}")
                                      : absl::StrCat(where, " is {lhs}, but ", graph.DimText(dim_size), " is {rhs}",
                                                     OriginText(graph, bindings, check.rhs));
  return check;
}

// A lower bound of a bound symbol, given that raw dim sizes are >= 0.
int64_t LeastSolved(const SymbolBinding& binding) {
  if (binding.offset > 0) return 0;  // ensured by the check of the binding
  return interval::CeilDivideBound(-binding.offset, binding.coefficient);
}

// `declared` has declared facts only, so that no check proves itself.
void AppendRangeChecks(const Graph& graph, absl::Span<const SymbolBinding> bindings, const FactStore& store,
                       const FactStore& declared, SymbolId symbol, std::vector<ShapeCheck>* checks) {
  const SymbolInfo& info = graph.symbol(symbol);
  const SymbolBinding* binding = FindBinding(bindings, symbol);
  DimExpr value = store.OverBoundSymbols(DimExpr::Symbol(symbol));
  std::string expression = binding != nullptr ? "" : absl::StrCat(" = ", graph.DimText(value));
  std::string prefix = absl::StrCat(info.name, expression, " is {lhs}", OriginText(graph, bindings, value));
  auto append = [&](Relation relation, int64_t rhs, absl::string_view demand) {
    checks->push_back({relation, value, rhs, -1, -1, absl::StrCat(prefix, ", but must be ", demand, " {rhs}"), ""});
  };
  Range range = binding != nullptr ? Range{LeastSolved(*binding), INT64_MAX} : declared.RangeOf(value);
  int64_t divisor = binding != nullptr ? 1 : declared.DivisorOf(value);
  if (info.min > range.min) append(Relation::kAtLeast, info.min, "at least");
  if (info.max < range.max) append(Relation::kAtMost, info.max, "at most");
  if (divisor % info.multiple_of != 0) append(Relation::kMultipleOf, info.multiple_of, "a multiple of");
}

// The first use of the symbol, for messages: `reshape %3 of "4*S"`; empty if there is none.
std::string FirstUse(const Graph& graph, SymbolId symbol) {
  auto used = [&](const DimExpr& dim) { return Mentions(dim, symbol); };
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    std::vector<Shape> shapes;
    for (const TensorType& type : node.results) shapes.push_back(type.shape);
    for (const auto& [name, attribute] : node.attributes) {
      if (const Shape* dims = std::get_if<Shape>(&attribute)) shapes.push_back(*dims);
    }
    for (const Shape& shape : shapes) {
      auto it = std::find_if(shape.begin(), shape.end(), used);
      if (it == shape.end()) continue;
      return absl::StrCat(InfoOf(node.op).text, " ", graph.NameOf({id, 0}), " has size ", graph.DimText(*it));
    }
  }
  for (const auto& [relation, lhs, rhs, what, assured] : graph.assumptions()) {
    if (!used(lhs) && !used(rhs)) continue;
    const absl::string_view text = relation == Assumption::Relation::kEqual ? " == " : " >= ";
    return absl::StrCat("assumed ", graph.DimText(lhs), text, graph.DimText(rhs));
  }
  return "";
}

// Symbols for data-dependent dim sizes of loops and branches. No input holds them; the first node to mention such a
// symbol is the one that produces it.
std::set<SymbolId> DataDependentSymbols(const Graph& graph) {
  std::set<SymbolId> data_dependent;
  for (const Node& node : graph.nodes()) {
    if (node.op != OpKind::kWhile && node.op != OpKind::kIf) continue;
    const std::vector<std::vector<bool>> dim_sizes = DataDependentDims(graph, node);
    for (size_t r = 0; r < dim_sizes.size(); ++r) {
      for (size_t d = 0; d < dim_sizes[r].size(); ++d) {
        if (dim_sizes[r][d]) data_dependent.insert(*node.results[r].shape[d].symbol());
      }
    }
  }
  return data_dependent;
}

}  // namespace

std::string InputDimText(const Graph& graph, int input, int dim) {
  const Node& node = graph.node(graph.inputs()[input]);
  return absl::StrCat("input \"", node.string("name"), "\" dim ", dim);
}

std::vector<SymbolBinding> BindSymbols(const Graph& graph) {
  std::vector<std::optional<SymbolBinding>> best(graph.symbols().size());
  for (size_t input = 0; input < graph.inputs().size(); ++input) {
    const Shape& shape = InputShape(graph, static_cast<int>(input));
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      std::optional<LinearDim> linear = AsLinear(shape[dim]);
      if (!linear || linear->coefficient < 1) continue;
      SymbolBinding binding{linear->symbol, static_cast<int>(input), static_cast<int>(dim), linear->coefficient,
                            linear->offset};
      std::optional<SymbolBinding>& known = best[linear->symbol];
      if (!known || BindingCost(binding) < BindingCost(*known)) known = binding;
    }
  }
  std::vector<SymbolBinding> bindings;
  for (const std::optional<SymbolBinding>& binding : best) {
    if (binding) bindings.push_back(*binding);
  }
  std::sort(bindings.begin(), bindings.end(), [](const SymbolBinding& a, const SymbolBinding& b) {
    return std::pair(a.input, a.dim) < std::pair(b.input, b.dim);
  });
  return bindings;
}

absl::Status CheckSolvable(const Graph& graph, const FactStore& store) {
  const std::set<SymbolId> data_dependent = DataDependentSymbols(graph);
  for (SymbolId symbol = 0; symbol < static_cast<SymbolId>(graph.symbols().size()); ++symbol) {
    DimExpr value = store.OverBoundSymbols(DimExpr::Symbol(symbol));
    for (SymbolId needed : value.Symbols()) {
      const bool known = store.bound(needed) || data_dependent.contains(needed);
      std::string use = known ? "" : FirstUse(graph, needed);
      if (use.empty()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("symbol ", graph.symbol(needed).name, " cannot be solved: no input dim has the form c*",
                       graph.symbol(needed).name, " + d, and nothing equates it with other symbols (", use, ")"));
    }
  }
  return absl::OkStatus();
}

std::vector<ShapeCheck> SignatureChecks(const Graph& graph, absl::Span<const SymbolBinding> bindings,
                                        const FactStore& store) {
  std::vector<ShapeCheck> checks;
  for (int input = 0; input < static_cast<int>(graph.inputs().size()); ++input) {
    for (int dim = 0; dim < static_cast<int>(InputShape(graph, input).size()); ++dim) {
      auto solved = std::find_if(bindings.begin(), bindings.end(),
                                 [&](const SymbolBinding& b) { return b.input == input && b.dim == dim; });
      if (solved != bindings.end()) {
        AppendBindingChecks(graph, *solved, &checks);
      } else {
        checks.push_back(InputDimCheck(graph, bindings, store, input, dim));
      }
    }
  }
  FactStore declared(graph.symbols(), bindings);
  for (const SymbolBinding& binding : bindings) {
    AppendRangeChecks(graph, bindings, store, declared, binding.symbol, &checks);
  }
  for (SymbolId symbol = 0; symbol < static_cast<SymbolId>(graph.symbols().size()); ++symbol) {
    DimExpr s = DimExpr::Symbol(symbol);
    bool defined = !store.bound(symbol) && store.OverBoundSymbols(s) != s;
    if (defined) AppendRangeChecks(graph, bindings, store, declared, symbol, &checks);
  }
  return checks;
}

}  // namespace tailor
