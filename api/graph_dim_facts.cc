// Glue of tailor/compiler.h: what is known of dims, their structure, and dims of other graphs.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "api/compiler_arguments.h"
#include "api/dim_facts.h"
#include "api/graph_addition.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

const DimFacts& FactsOf(tailor_graph& graph) {
  if (graph.dim_facts == nullptr || !graph.dim_facts->Describes(graph.graph)) {
    graph.dim_facts = std::make_unique<DimFacts>(graph.graph);
  }
  return *graph.dim_facts;
}

Range RangeOf(tailor_graph& graph, const DimExpr& dim) {
  if (auto constant = dim.constant()) return {*constant, *constant};
  return FactsOf(graph).RangeOf(dim);
}

// Runs `body` with exclusive access to `graph`. For functions that read dims: new handles and the cached facts are
// stored in the graph.
template <typename Body>
tailor_status* WithDims(const char* function, tailor_graph* graph, Body body) {
  return AtBoundary([&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(CheckGraph(function, graph));
    const Writer<tailor_graph> writer(*graph);
    TAILOR_RETURN_IF_ERROR(CheckHeld(function, *graph, writer));
    return body();
  });
}

// 1, 0, or -1 for unknown.
int32_t Compare(Range difference, int32_t relation) {
  switch (relation) {
    case TAILOR_DIM_EQUAL:
      if (difference.min == 0 && difference.max == 0) return 1;
      return difference.min > 0 || difference.max < 0 ? 0 : -1;
    case TAILOR_DIM_LESS:
      if (difference.max < 0) return 1;
      return difference.min >= 0 ? 0 : -1;
    default:
      if (difference.max <= 0) return 1;
      return difference.min > 0 ? 0 : -1;
  }
}

int32_t KindOf(DimExpr::AtomKind kind) {
  switch (kind) {
    case DimExpr::AtomKind::kSymbol:
      return TAILOR_DIM_SYMBOL;
    case DimExpr::AtomKind::kFloorDiv:
      return TAILOR_DIM_FLOORDIV;
    case DimExpr::AtomKind::kMod:
      return TAILOR_DIM_MOD;
    case DimExpr::AtomKind::kMin:
      return TAILOR_DIM_MIN;
    case DimExpr::AtomKind::kMax:
      return TAILOR_DIM_MAX;
    case DimExpr::AtomKind::kBcast:
      return TAILOR_DIM_BCAST;
  }
  return TAILOR_DIM_CONSTANT;
}

struct DimParts {
  int32_t kind = TAILOR_DIM_CONSTANT;
  DimExpr lhs, rhs;
};

// The outermost operation of `dim`, which is neither a constant nor a symbol.
DimParts PartsOf(const DimExpr& dim) {
  const auto terms = dim.terms();
  if (terms.size() > 1) {
    const DimExpr last = DimExpr::OfTerm(terms.back());
    DimExpr others = dim - last;
    if (!others.valid()) {  // the last coefficient has no negative
      others = 0;
      for (const DimExpr::Term& term : terms.first(terms.size() - 1)) others = others + DimExpr::OfTerm(term);
    }
    return {TAILOR_DIM_ADD, others, last};
  }
  const DimExpr::Term& term = terms.front();
  if (term.coefficient == 1 && term.factors.size() == 1 && term.factors[0].power == 1) {
    const DimExpr::Atom& atom = *term.factors[0].atom;
    return {KindOf(atom.kind), atom.lhs, atom.rhs};
  }
  if (term.coefficient != 1) {
    DimExpr::Term rest = term;
    rest.coefficient = 1;
    return {TAILOR_DIM_MUL, DimExpr(term.coefficient), DimExpr::OfTerm(std::move(rest))};
  }
  DimExpr::Term first, rest = term;
  first.coefficient = 1;
  first.factors = {{term.factors[0].atom, 1}};
  rest.factors[0].power -= 1;
  return {TAILOR_DIM_MUL, DimExpr::OfTerm(std::move(first)), DimExpr::OfTerm(std::move(rest))};
}

// A dim, and the index of the replacement of each of its symbols.
struct Replaced {
  DimExpr dim;
  absl::flat_hash_map<SymbolId, size_t> index;
};

absl::StatusOr<Replaced> FindReplaced(tailor_graph* from, tailor_dim dim, const tailor_dim* symbols, size_t count) {
  constexpr const char* kFunction = "tailor_dim_rewrite";
  TAILOR_RETURN_IF_ERROR(CheckGraph(kFunction, from));
  const Writer<tailor_graph> writer(*from);
  TAILOR_RETURN_IF_ERROR(CheckHeld(kFunction, *from, writer));
  if (count > 0) TAILOR_RETURN_IF_ERROR(CheckPresent(kFunction, "symbols", symbols));
  Replaced out;
  TAILOR_ASSIGN_OR_RETURN(out.dim, FindDim(*from, kFunction, "dim", dim));
  for (size_t i = 0; i < count; ++i) {
    const std::string name = absl::StrCat("symbols[", i, "]");
    TAILOR_ASSIGN_OR_RETURN(const DimExpr symbol, FindDim(*from, kFunction, name, symbols[i]));
    if (!symbol.symbol()) {
      return absl::InvalidArgumentError(
          absl::StrCat(kFunction, ": ", name, " is ", from->graph.DimText(symbol), ", which is no symbol"));
    }
    out.index[*symbol.symbol()] = i;
  }
  for (SymbolId id : out.dim.Symbols()) {
    if (out.index.contains(id)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(kFunction, ": no replacement for the symbol ", from->graph.symbols()[id].name));
  }
  return out;
}

absl::Status Rewrite(const Replaced& replaced, tailor_graph* into, const tailor_dim* replacements, size_t count,
                     tailor_dim* out) {
  constexpr const char* kFunction = "tailor_dim_rewrite";
  TAILOR_RETURN_IF_ERROR(CheckGraph(kFunction, into));
  const Writer<tailor_graph> writer(*into);
  TAILOR_RETURN_IF_ERROR(CheckHeld(kFunction, *into, writer));
  if (count > 0) TAILOR_RETURN_IF_ERROR(CheckPresent(kFunction, "replacements", replacements));
  std::vector<DimExpr> given(count);
  for (size_t i = 0; i < count; ++i) {
    TAILOR_ASSIGN_OR_RETURN(given[i],
                            FindDim(*into, kFunction, absl::StrCat("replacements[", i, "]"), replacements[i]));
  }
  const DimExpr result = replaced.dim.Substitute([&](SymbolId id) { return given[replaced.index.at(id)]; });
  if (!result.valid()) {
    const std::string message = absl::StrCat(kFunction, ": no valid dim: ", result.problem());
    return result.outgrown() ? absl::ResourceExhaustedError(message) : absl::InvalidArgumentError(message);
  }
  *out = NewDim(*into, result);
  return absl::OkStatus();
}

}  // namespace
}  // namespace tailor

using tailor::CheckPresent;
using tailor::DimExpr;
using tailor::FindDim;

tailor_status* tailor_dim_range(tailor_graph* graph, tailor_dim dim, int64_t* min, int64_t* max) {
  constexpr const char* kFunction = "tailor_dim_range";
  return tailor::WithDims(kFunction, graph, [&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(CheckPresent(kFunction, "min", min));
    TAILOR_RETURN_IF_ERROR(CheckPresent(kFunction, "max", max));
    TAILOR_ASSIGN_OR_RETURN(const DimExpr found, FindDim(*graph, kFunction, "dim", dim));
    const tailor::Range range = tailor::RangeOf(*graph, found);
    *min = range.min;
    *max = range.max;
    return absl::OkStatus();
  });
}

tailor_status* tailor_dim_compare(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, int32_t relation,
                                  int32_t* result) {
  constexpr const char* kFunction = "tailor_dim_compare";
  return tailor::WithDims(kFunction, graph, [&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(CheckPresent(kFunction, "result", result));
    if (relation < TAILOR_DIM_EQUAL || relation > TAILOR_DIM_AT_MOST) {
      return absl::InvalidArgumentError(absl::StrCat(kFunction, ": relation is ", relation, ", which is none"));
    }
    TAILOR_ASSIGN_OR_RETURN(const DimExpr a, FindDim(*graph, kFunction, "lhs", lhs));
    TAILOR_ASSIGN_OR_RETURN(const DimExpr b, FindDim(*graph, kFunction, "rhs", rhs));
    const DimExpr difference = a - b;
    if (!difference.valid()) {
      *result = -1;
    } else if (tailor::FactsOf(*graph).ProvablyEqual(a, b)) {
      *result = relation == TAILOR_DIM_LESS ? 0 : 1;
    } else {
      *result = tailor::Compare(tailor::RangeOf(*graph, difference), relation);
    }
    return absl::OkStatus();
  });
}

tailor_status* tailor_dim_describe(tailor_graph* graph, tailor_dim dim, tailor_dim_info* out) {
  constexpr const char* kFunction = "tailor_dim_describe";
  return tailor::WithDims(kFunction, graph, [&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(CheckPresent(kFunction, "out", out));
    TAILOR_ASSIGN_OR_RETURN(const DimExpr found, FindDim(*graph, kFunction, "dim", dim));
    tailor_dim_info info;
    tailor_dim_info_init(&info);
    if (auto constant = found.constant()) {
      info.constant = *constant;
    } else if (auto symbol = found.symbol()) {
      const tailor::SymbolInfo& declared = graph->graph.symbols()[*symbol];
      info.kind = TAILOR_DIM_SYMBOL;
      graph->text = declared.name;
      info.name = graph->text.c_str();
      info.min = declared.min;
      info.max = declared.max;
      info.multiple_of = declared.multiple_of;
    } else {
      const tailor::DimParts parts = tailor::PartsOf(found);
      info.kind = parts.kind;
      info.lhs = tailor::NewDim(*graph, parts.lhs);
      info.rhs = tailor::NewDim(*graph, parts.rhs);
    }
    return tailor::FromC(tailor::WriteInfo(kFunction, info, out));
  });
}

tailor_status* tailor_dim_symbols(tailor_graph* graph, tailor_dim dim, tailor_dim* symbols, size_t capacity,
                                  size_t* count) {
  constexpr const char* kFunction = "tailor_dim_symbols";
  return tailor::WithDims(kFunction, graph, [&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(CheckPresent(kFunction, "count", count));
    if (capacity > 0) TAILOR_RETURN_IF_ERROR(CheckPresent(kFunction, "symbols", symbols));
    TAILOR_ASSIGN_OR_RETURN(const DimExpr found, FindDim(*graph, kFunction, "dim", dim));
    const std::vector<tailor::SymbolId> ids = found.Symbols();
    for (size_t i = 0; i < std::min(ids.size(), capacity); ++i) {
      symbols[i] = tailor::NewDim(*graph, DimExpr::Symbol(ids[i]));
    }
    *count = ids.size();
    return absl::OkStatus();
  });
}

tailor_status* tailor_dim_rewrite(tailor_graph* from, tailor_dim dim, tailor_graph* into, const tailor_dim* symbols,
                                  const tailor_dim* replacements, size_t count, tailor_dim* out) {
  return tailor::AtBoundary([&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(CheckPresent("tailor_dim_rewrite", "out", out));
    // One graph at a time, so that `from` and `into` may be one.
    TAILOR_ASSIGN_OR_RETURN(const tailor::Replaced replaced, tailor::FindReplaced(from, dim, symbols, count));
    return tailor::Rewrite(replaced, into, replacements, count, out);
  });
}
