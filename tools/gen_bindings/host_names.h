// What the writers of typed hosts (Rust, Go) share: names, and which operands may be numbers.
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

// The operand before which an op's method stands; -1 where none comes first, so that the graph has the method.
int ReceiverOf(const OpInfo& op);

// The operand whose element type a number in place of operand `index` takes; -1 where only a value will do.
int NumberLike(const OpInfo& op, int index);

// The default of an i64 or f64 attribute where it is not 0; else "". All others default to what is empty.
std::string DefaultNumber(const AttributeInfo& attribute);
bool HasDefaultNumbers(const OpInfo& op);

// `head` `items` `tail` in one line, or where that is too long with a line for each item, as rustfmt has it.
std::string BlockList(absl::string_view indent, absl::string_view head, const std::vector<std::string>& items,
                      absl::string_view tail);

}  // namespace tailor

#endif  // TAILOR_TOOLS_GEN_BINDINGS_HOST_NAMES_H_
