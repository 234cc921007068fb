#include "tools/gen_bindings/host_names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tailor {

std::string UpperCamel(absl::string_view snake) {
  std::string out;
  for (absl::string_view word : absl::StrSplit(snake, '_', absl::SkipEmpty())) {
    absl::StrAppend(&out, std::string(1, absl::ascii_toupper(word.front())), word.substr(1));
  }
  return out;
}

std::string LowerCamel(absl::string_view snake) {
  std::string out = UpperCamel(snake);
  out.front() = absl::ascii_tolower(out.front());
  return out;
}

int ReceiverOf(const OpInfo& op) { return op.operands.empty() || op.operands.front().variadic ? -1 : 0; }

int NumberLike(const OpInfo& op, int index) {
  if (op.operands[index].variadic) return -1;
  switch (op.dtype) {
    case DTypeRule::kGather:
    case DTypeRule::kScatter:
      return -1;
    case DTypeRule::kSelect:
      return index == 2 ? 1 : -1;
    default:
      return index > 0 ? 0 : -1;
  }
}

std::string DefaultNumber(const AttributeInfo& attribute) {
  const bool number = attribute.type == AttributeType::kI64 || attribute.type == AttributeType::kF64;
  return number && attribute.default_text && *attribute.default_text != "0" ? std::string(*attribute.default_text) : "";
}

bool HasDefaultNumbers(const OpInfo& op) {
  for (const AttributeInfo& a : op.attributes) {
    if (!DefaultNumber(a).empty()) return true;
  }
  return false;
}

std::string BlockList(absl::string_view indent, absl::string_view head, const std::vector<std::string>& items,
                      absl::string_view tail) {
  constexpr size_t kWidth = 110;
  std::string line = absl::StrCat(indent, head, absl::StrJoin(items, ", "), tail);
  if (line.size() <= kWidth) return absl::StrCat(line, "\n");
  std::string out = absl::StrCat(indent, head, "\n");
  for (const std::string& item : items) absl::StrAppend(&out, indent, "    ", item, ",\n");
  return absl::StrCat(out, indent, tail, "\n");
}

}  // namespace tailor
