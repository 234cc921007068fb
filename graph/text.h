// Reads the canonical text form:
//
//   graph @mlp(%x: f32[B, S, 768]) where B in [1, 512] multiple_of 8 likely [8, 64], S in [0, 256],
//       M == B*S {
//     %w = constant @w : f32[3072, 768] hash 0123456789abcdef
//     %d = dot %x, %w {transpose_rhs = 1} : f32[B, S, 3072]
//     %half = constant 0.5 : f32[]
//     %4 = mul %d, %half : f32[B, S, 3072] @"encoder/half"
//     return "y" = %4
//   }
//
// - Names are words (letters, digits, '_', '.') or quoted. %name names the node, %12 does not; a name
//   that an earlier node has taken follows the type as @name. Results of a node with several are
//   %n#0, %n#1. `//` starts a comment.
// - Result types are optional on input, except a constant's, and always printed. Attributes equal to
//   their default are left out. `hash` and an output's name are optional.
// - Symbols are numbered as they appear in the header, or as the where clause lists them if it lists
//   all of those. Symbols that are not in the header are declared by the where clause.
// - Constants of rank 0 or 1 may give their value: `constant 0.5 : f32[]`, `constant [1, 2] : i64[2]`;
//   the value is their name where no @name precedes it.
// - The where clause ends with assumptions: `M == B*S`, `S + 2 >= 3`, each perhaps with the name of what demands it for
//   messages: `S + 2 >= 3 @"stem, dim 1"`.
// - Regions: `%a, %b = while(%d, %n) { region(%i: f32[B], %c: i64[]) {... return %ok} region(...) {...} }`.
#ifndef TAILOR_GRAPH_TEXT_H_
#define TAILOR_GRAPH_TEXT_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"

namespace tailor {

// Bytes for a constant of the text, by name and type; an error refuses the text. The default gives zeros.
using ConstantSource = std::function<absl::StatusOr<ConstantData>(absl::string_view name, const TensorType& type)>;
// Whether the bytes of a source must have the hash that the text gives.
enum class ConstantHashes { kChecked, kIgnored };

// Fails with INVALID_ARGUMENT "line L, column C: ...".
absl::StatusOr<Graph> ParseGraph(absl::string_view text, const ConstantSource& constants = nullptr,
                                 ConstantHashes hashes = ConstantHashes::kChecked);

// The constants of `graph` and of its regions whose bytes its text leaves out, in the order in which ParseGraph asks
// for them. They belong to `graph`.
std::vector<const ConstantData*> ConstantsLeftOut(const Graph& graph);

// The name of output number `index` where the text gives none: its node's, else "output<index>".
std::string DefaultOutputName(const Graph& graph, Value value, size_t index);

// Parses "4*B*S + floordiv(S, 2)" over `graph`'s symbols.
absl::StatusOr<DimExpr> ParseDim(absl::string_view text, const Graph& graph);
// Over the symbols that `find` names.
absl::StatusOr<DimExpr> ParseDim(absl::string_view text,
                                 absl::FunctionRef<std::optional<SymbolId>(absl::string_view name)> find);

}  // namespace tailor

#endif  // TAILOR_GRAPH_TEXT_H_
