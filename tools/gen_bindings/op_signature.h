// One row of the op table as all generated files need it: C parameters and documentation texts.
#ifndef TAILOR_TOOLS_GEN_BINDINGS_OP_SIGNATURE_H_
#define TAILOR_TOOLS_GEN_BINDINGS_OP_SIGNATURE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/ops.h"

namespace tailor {

// The rows that have a generated function, in table order: all but those that compiler.h declares
// by hand (input, constant) and those that take regions.
std::vector<const OpInfo*> GeneratedOps();

std::vector<AttributeInfo> RequiredAttributes(const OpInfo& op);
std::vector<AttributeInfo> OptionalAttributes(const OpInfo& op);

// "tailor_graph_dot", "tailor_dot_options".
std::string FunctionName(const OpInfo& op);
std::string OptionsName(const OpInfo& op);

// The texts of an op's documentation; sentences end with a full stop.
struct OpText {
  std::string call;     // "reshape(x, shape)": operands and required attributes
  std::string formula;  // "out[..., m, n] = sum_k lhs[..., m, k] * rhs[..., k, n]"
  std::string shapes;
  std::string types;
  std::string errors;  // "a foreign value, rank < 2 or unequal types"
};
OpText TextOf(const OpInfo& op);

// "keep_dims (default 0): 1 keeps ..." for attributes whose name is not self-explanatory; else "".
std::string AttributeText(const AttributeInfo& attribute);

// Breaks `text` at spaces into lines of at most `width` columns. The first line starts with `first`, the others with
// `rest`. A kNoBreak in `text` is printed as a space at which no line breaks.
std::string Wrapped(absl::string_view text, absl::string_view first, absl::string_view rest, size_t width = 110);
inline constexpr char kNoBreak = '\x01';

// `head` and the comma-separated `parameters` and `tail`, aligned after the parenthesis that ends `head`.
std::string WrappedParameters(absl::string_view head, const std::vector<std::string>& parameters,
                              absl::string_view tail);

}  // namespace tailor

#endif  // TAILOR_TOOLS_GEN_BINDINGS_OP_SIGNATURE_H_
