// Glue of tailor/compiler.h: symbols and arithmetic on dims.
#include <array>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/compiler_arguments.h"
#include "api/graph_addition.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

absl::StatusOr<SymbolInfo> ReadSymbol(const char* name, size_t name_size, const tailor_symbol_options* options) {
  constexpr const char* kFunction = "tailor_graph_symbol";
  SymbolInfo info;
  TAILOR_ASSIGN_OR_RETURN(info.name, ReadString(kFunction, "name", name, name_size));
  TAILOR_ASSIGN_OR_RETURN(tailor_symbol_options given,
                          OptionsOrDefaults(kFunction, options, tailor_symbol_options_init));
  if (given.likely_count > 0) TAILOR_RETURN_IF_ERROR(CheckPresent(kFunction, "likely", given.likely));
  info.min = given.min;
  info.max = given.max;
  info.multiple_of = given.multiple_of;
  info.likely.assign(given.likely, given.likely + given.likely_count);
  return info;
}

// `*out = combine(dims)`; rejects an invalid expression (overflow, a divisor <= 0, too large).
template <typename Combine, size_t kCount>
tailor_status* CombineDims(const char* function, tailor_graph* graph, const char* const (&names)[kCount],
                           const tailor_dim (&dims)[kCount], tailor_dim* out, Combine combine) {
  return AtBoundary([&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(CheckGraph(function, graph));
    const Writer<tailor_graph> writer(*graph);
    TAILOR_RETURN_IF_ERROR(CheckHeld(function, *graph, writer));
    TAILOR_RETURN_IF_ERROR(CheckPresent(function, "out", out));
    std::array<DimExpr, kCount> operands;
    for (size_t i = 0; i < kCount; ++i) {
      TAILOR_ASSIGN_OR_RETURN(operands[i], FindDim(*graph, function, names[i], dims[i]));
    }
    const DimExpr result = std::apply(combine, operands);
    if (!result.valid()) {
      const std::string from = absl::StrJoin(operands, " and ", [&](std::string* text, const DimExpr& dim) {
        absl::StrAppend(text, graph->graph.DimText(dim));
      });
      const std::string message = absl::StrCat(function, ": no valid dim from ", from, ": ", result.problem());
      return result.outgrown() ? absl::ResourceExhaustedError(message) : absl::InvalidArgumentError(message);
    }
    *out = NewDim(*graph, result);
    return absl::OkStatus();
  });
}

template <typename Combine>
tailor_status* CombineDims(const char* function, tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out,
                           Combine combine) {
  return CombineDims(function, graph, {"lhs", "rhs"}, {lhs, rhs}, out, combine);
}

}  // namespace
}  // namespace tailor

using tailor::AtBoundary;
using tailor::CombineDims;
using tailor::DimExpr;

tailor_status* tailor_graph_symbol(tailor_graph* graph, const char* name, size_t name_size,
                                   const tailor_symbol_options* options, tailor_dim* out) {
  return tailor::AddToGraph("tailor_graph_symbol", graph, [&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(tailor::CheckPresent("tailor_graph_symbol", "out", out));
    TAILOR_ASSIGN_OR_RETURN(tailor::SymbolInfo info, tailor::ReadSymbol(name, name_size, options));
    TAILOR_ASSIGN_OR_RETURN(tailor::SymbolId symbol, graph->graph.AddSymbol(std::move(info)));
    *out = tailor::NewDim(*graph, DimExpr::Symbol(symbol));
    return absl::OkStatus();
  });
}

tailor_status* tailor_graph_dim(tailor_graph* graph, int64_t dim_size, tailor_dim* out) {
  return AtBoundary([&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(tailor::CheckGraph("tailor_graph_dim", graph));
    const tailor::Writer<tailor_graph> writer(*graph);
    TAILOR_RETURN_IF_ERROR(tailor::CheckHeld("tailor_graph_dim", *graph, writer));
    TAILOR_RETURN_IF_ERROR(tailor::CheckPresent("tailor_graph_dim", "out", out));
    *out = tailor::NewDim(*graph, DimExpr(dim_size));
    return absl::OkStatus();
  });
}

tailor_status* tailor_dim_add(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out) {
  return CombineDims("tailor_dim_add", graph, lhs, rhs, out, std::plus<DimExpr>());
}

tailor_status* tailor_dim_sub(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out) {
  return CombineDims("tailor_dim_sub", graph, lhs, rhs, out, std::minus<DimExpr>());
}

tailor_status* tailor_dim_mul(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out) {
  return CombineDims("tailor_dim_mul", graph, lhs, rhs, out, std::multiplies<DimExpr>());
}

tailor_status* tailor_dim_floordiv(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out) {
  return CombineDims("tailor_dim_floordiv", graph, lhs, rhs, out, DimExpr::FloorDiv);
}

tailor_status* tailor_dim_mod(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out) {
  return CombineDims("tailor_dim_mod", graph, lhs, rhs, out, DimExpr::Mod);
}

tailor_status* tailor_dim_min(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out) {
  return CombineDims("tailor_dim_min", graph, lhs, rhs, out, DimExpr::Min);
}

tailor_status* tailor_dim_max(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out) {
  return CombineDims("tailor_dim_max", graph, lhs, rhs, out, DimExpr::Max);
}

tailor_status* tailor_dim_ceildiv(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out) {
  return CombineDims("tailor_dim_ceildiv", graph, lhs, rhs, out, DimExpr::CeilDiv);
}

tailor_status* tailor_dim_truncdiv(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out) {
  return CombineDims("tailor_dim_truncdiv", graph, lhs, rhs, out, DimExpr::TruncDiv);
}

tailor_status* tailor_dim_truncmod(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out) {
  return CombineDims("tailor_dim_truncmod", graph, lhs, rhs, out, DimExpr::TruncMod);
}

tailor_status* tailor_dim_less(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out) {
  return CombineDims("tailor_dim_less", graph, lhs, rhs, out, DimExpr::Less);
}

tailor_status* tailor_dim_equal(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out) {
  return CombineDims("tailor_dim_equal", graph, lhs, rhs, out, DimExpr::Equal);
}

tailor_status* tailor_dim_select(tailor_graph* graph, tailor_dim condition, tailor_dim lhs, tailor_dim rhs,
                                 tailor_dim* out) {
  return CombineDims("tailor_dim_select", graph, {"condition", "lhs", "rhs"}, {condition, lhs, rhs}, out,
                     DimExpr::Select);
}

tailor_status* tailor_graph_assume_equal(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs) {
  return AtBoundary([&]() -> absl::Status {
    constexpr const char* kFunction = "tailor_graph_assume_equal";
    TAILOR_RETURN_IF_ERROR(tailor::CheckGraph(kFunction, graph));
    const tailor::Writer<tailor_graph> writer(*graph);
    TAILOR_RETURN_IF_ERROR(tailor::CheckHeld(kFunction, *graph, writer));
    TAILOR_ASSIGN_OR_RETURN(DimExpr a, tailor::FindDim(*graph, kFunction, "lhs", lhs));
    TAILOR_ASSIGN_OR_RETURN(DimExpr b, tailor::FindDim(*graph, kFunction, "rhs", rhs));
    return graph->graph.AssumeEqual(a, b);
  });
}

tailor_status* tailor_graph_assume_at_least(tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, const char* what,
                                            size_t size) {
  return AtBoundary([&]() -> absl::Status {
    constexpr const char* kFunction = "tailor_graph_assume_at_least";
    TAILOR_RETURN_IF_ERROR(tailor::CheckGraph(kFunction, graph));
    const tailor::Writer<tailor_graph> writer(*graph);
    TAILOR_RETURN_IF_ERROR(tailor::CheckHeld(kFunction, *graph, writer));
    TAILOR_ASSIGN_OR_RETURN(std::string text, tailor::ReadString(kFunction, "what", what, size));
    TAILOR_ASSIGN_OR_RETURN(DimExpr a, tailor::FindDim(*graph, kFunction, "lhs", lhs));
    TAILOR_ASSIGN_OR_RETURN(DimExpr b, tailor::FindDim(*graph, kFunction, "rhs", rhs));
    return graph->graph.Assume({tailor::Assumption::Relation::kAtLeast, a, b, std::move(text)});
  });
}
