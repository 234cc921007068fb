#include "graph/ops.h"

#include <cassert>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace tailor {
namespace {

// "(a, b)" -> {"a", "b"}; "()" -> {}.
std::vector<absl::string_view> ColumnEntries(absl::string_view column) {
  absl::ConsumePrefix(&column, "(");
  absl::ConsumeSuffix(&column, ")");
  std::vector<absl::string_view> entries;
  for (absl::string_view entry : absl::StrSplit(column, ',', absl::SkipWhitespace())) {
    entries.push_back(absl::StripAsciiWhitespace(entry));
  }
  return entries;
}

std::vector<OperandInfo> ParseOperands(absl::string_view column) {
  std::vector<OperandInfo> operands;
  for (absl::string_view entry : ColumnEntries(column)) {
    OperandInfo info;
    info.may_be_empty = absl::ConsumeSuffix(&entry, "*");
    info.variadic = info.may_be_empty || absl::ConsumeSuffix(&entry, "...");
    info.name = absl::StripAsciiWhitespace(entry);
    operands.push_back(info);
  }
  return operands;
}

AttributeType ParseAttributeType(absl::string_view text) {
  if (text == "i64") return AttributeType::kI64;
  if (text == "i64s") return AttributeType::kI64s;
  if (text == "f64") return AttributeType::kF64;
  if (text == "string") return AttributeType::kString;
  if (text == "dtype") return AttributeType::kDType;
  assert(text == "dims");
  return AttributeType::kDims;
}

std::vector<AttributeInfo> ParseAttributes(absl::string_view column) {
  std::vector<AttributeInfo> attributes;
  for (absl::string_view entry : ColumnEntries(column)) {
    std::vector<absl::string_view> parts = absl::StrSplit(entry, ':');
    assert(parts.size() == 2 || parts.size() == 3);
    AttributeInfo info{absl::StripAsciiWhitespace(parts[0]), ParseAttributeType(absl::StripAsciiWhitespace(parts[1])),
                       std::nullopt};
    if (parts.size() == 3) info.default_text = absl::StripAsciiWhitespace(parts[2]);
    attributes.push_back(info);
  }
  return attributes;
}

const std::vector<OpInfo>& Table() {
  static const auto* table = new std::vector<OpInfo>{
#define TAILOR_OP_INFO(id, kind, text, operands, attributes, shape, dtype, fusion, lowering, cost, formula) \
  {OpKind::k##kind,                                                                                         \
   #kind,                                                                                                   \
   text,                                                                                                    \
   ParseOperands(#operands),                                                                                \
   ParseAttributes(#attributes),                                                                            \
   ShapeRule::shape,                                                                                        \
   DTypeRule::dtype,                                                                                        \
   FusionClass::fusion,                                                                                     \
   cost,                                                                                                    \
   formula},
      TAILOR_OP_TABLE(TAILOR_OP_INFO)
#undef TAILOR_OP_INFO
  };
  return *table;
}

}  // namespace

absl::Span<const OpInfo> AllOps() { return Table(); }

const OpInfo& InfoOf(OpKind kind) {
  static const auto* by_id = [] {
    auto* index = new std::vector<const OpInfo*>;
    for (const OpInfo& info : Table()) {
      size_t id = static_cast<size_t>(info.kind);
      if (index->size() <= id) index->resize(id + 1);
      (*index)[id] = &info;
    }
    return index;
  }();
  size_t id = static_cast<size_t>(kind);
  assert(id < by_id->size() && (*by_id)[id] != nullptr);
  return *(*by_id)[id];
}

const OpInfo* FindOp(absl::string_view text) {
  for (const OpInfo& info : Table()) {
    if (info.text == text) return &info;
  }
  return nullptr;
}

}  // namespace tailor
