// Queries shared by the binding writers of statically typed languages (Rust, Go): names, and operands that may be plain
// numbers.
#ifndef TAILOR_TOOLS_GEN_BINDINGS_HOST_NAMES_H_
#define TAILOR_TOOLS_GEN_BINDINGS_HOST_NAMES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tools/gen_bindings/op_signature.h"

namespace tailor {

// "keep_dims" -> "KeepDims" and "keepDims".
std::string UpperCamel(absl::string_view snake);
std::string LowerCamel(absl::string_view snake);

// The index of the operand on which an op is called as a method: x.op(...). -1: it is a method of the graph.
int ReceiverOf(const OpInfo& op);

// The index of the operand whose dtype a plain number in place of operand `index` gets. -1: no number is accepted
// there.
int NumberLike(const OpInfo& op, int index);

// The default of an i64 or f64 attribute if it is not 0, else "". Attributes of other types default to an empty value.
std::string DefaultNumber(const AttributeInfo& attribute);
bool HasDefaultNumbers(const OpInfo& op);

// `head`, `items` and `tail` on one line, or one item per line if that is too long, in rustfmt's style.
std::string BlockList(absl::string_view indent, absl::string_view head, const std::vector<std::string>& items,
                      absl::string_view tail);

}  // namespace tailor

#endif  // TAILOR_TOOLS_GEN_BINDINGS_HOST_NAMES_H_
