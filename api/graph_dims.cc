// Glue of tailor/compiler.h: symbols and arithmetic on dims.
#include "absl/strings/str_cat.h"
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

// `*out = combine(lhs, rhs)`; an expression with no value (overflow, a divisor <= 0, too large) is refused.
template <typename Combine>
tailor_status* CombineDims(const char* function, tailor_graph* graph, tailor_dim lhs, tailor_dim rhs, tailor_dim* out,
                           Combine combine) {
  return AtBoundary([&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(CheckGraph(function, graph));
    const Writer<tailor_graph> writer(*graph);
    TAILOR_RETURN_IF_ERROR(CheckHeld(function, *graph, writer));
    TAILOR_RETURN_IF_ERROR(CheckPresent(function, "out", out));
    TAILOR_ASSIGN_OR_RETURN(DimExpr a, FindDim(*graph, function, "lhs", lhs));
    TAILOR_ASSIGN_OR_RETURN(DimExpr b, FindDim(*graph, function, "rhs", rhs));
    DimExpr result = combine(a, b);
    if (!result.valid()) {
      const std::string message = absl::StrCat(function, ": no valid dim from ", graph->graph.DimText(a), " and ",
                                               graph->graph.DimText(b), ": ", result.problem());
      return result.outgrown() ? absl::ResourceExhaustedError(message) : absl::InvalidArgumentError(message);
    }
    *out = NewDim(*graph, result);
    return absl::OkStatus();
  });
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

tailor_status* tailor_graph_dim(tailor_graph* graph, int64_t extent, tailor_dim* out) {
  return AtBoundary([&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(tailor::CheckGraph("tailor_graph_dim", graph));
    const tailor::Writer<tailor_graph> writer(*graph);
    TAILOR_RETURN_IF_ERROR(tailor::CheckHeld("tailor_graph_dim", *graph, writer));
    TAILOR_RETURN_IF_ERROR(tailor::CheckPresent("tailor_graph_dim", "out", out));
    *out = tailor::NewDim(*graph, DimExpr(extent));
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
