// Reads the canonical text form. Grammar (result types optional on input, always printed):
//
//   graph @mlp(%x: f32[B, S, 768]) where B in [1, 512] multiple_of 8 likely [8, 64], S in [0, 256],
//       M == B*S {
//     %w = constant @w : f32[3072, 768] hash 0123456789abcdef
//     %d = dot %x, %w {transpose_rhs = 1} : f32[B, S, 3072]
//     return "y" = %d
//   }
#ifndef TAILOR_GRAPH_TEXT_H_
#define TAILOR_GRAPH_TEXT_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"

namespace tailor {

// Bytes for a constant of the text, by name and type. The default gives zeros.
using ConstantSource = std::function<ConstantData(absl::string_view name, const TensorType& type)>;

// Fails with INVALID_ARGUMENT "line L, column C: ...".
absl::StatusOr<Graph> ParseGraph(absl::string_view text, const ConstantSource& constants = nullptr);

// Parses "4*B*S + floordiv(S, 2)" over `graph`'s symbols.
absl::StatusOr<DimExpr> ParseDim(absl::string_view text, const Graph& graph);

}  // namespace tailor

#endif  // TAILOR_GRAPH_TEXT_H_
