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
// - Names are words (letters, digits, '_', '.') or quoted. %name names the node, %12 does not. A name that an earlier
//   node has taken is written after the type, as @name. A node's results are %n#0, %n#1. `//` starts a comment.
// - Result types are optional on input, except a constant's, and always printed. Attributes equal to their default are
//   omitted. `hash` and an output's name are optional.
// - Symbols are numbered as they appear in the header, or as the where clause lists them if it lists all of the
//   header's. The where clause declares symbols that are not in the header.
// - Constants of rank 0 or 1 may have their value inline: `constant 0.5 : f32[]`, `constant [1, 2] : i64[2]`. Without a
//   preceding @name the value is also the constant's name.
// - The where clause ends with assumptions: `M == B*S`, `S + 2 >= 3`. Each may name its reason, for messages:
//   `S + 2 >= 3 @"stem, dim 1"`.
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

// Returns the bytes of a constant, by name and type; an error fails the parse. The default returns zeros.
using ConstantSource = std::function<absl::StatusOr<ConstantData>(absl::string_view name, const TensorType& type)>;
// Whether ParseGraph checks the bytes of a source against the text's hash.
enum class ConstantHashes { kChecked, kIgnored };

// Fails with INVALID_ARGUMENT "line L, column C: ...".
absl::StatusOr<Graph> ParseGraph(absl::string_view text, const ConstantSource& constants = nullptr,
                                 ConstantHashes hashes = ConstantHashes::kChecked);

// The constants of `graph` and its regions whose bytes its text omits, in the order in which ParseGraph requests them.
// They belong to `graph`.
std::vector<const ConstantData*> ConstantsLeftOut(const Graph& graph);

// The name of output `index` if the text has none: its node's name, else "output<index>".
std::string DefaultOutputName(const Graph& graph, Value value, size_t index);

// Parses a dim expression, "4*B*S + floordiv(S, 2)", over `graph`'s symbols.
absl::StatusOr<DimExpr> ParseDim(absl::string_view text, const Graph& graph);
// The same over the symbols that `find` returns.
absl::StatusOr<DimExpr> ParseDim(absl::string_view text,
                                 absl::FunctionRef<std::optional<SymbolId>(absl::string_view name)> find);

}  // namespace tailor

#endif  // TAILOR_GRAPH_TEXT_H_
