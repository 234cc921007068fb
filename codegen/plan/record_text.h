// Text form of plain structs: "{lanes 8, unroll 4}" lists the fields that differ from a default-constructed record. A
// record lists its fields once, in an overload of FieldsOf. Printing, parsing and the tests that corrupt each field use
// this list.
#ifndef TAILOR_CODEGEN_PLAN_RECORD_TEXT_H_
#define TAILOR_CODEGEN_PLAN_RECORD_TEXT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "codegen/plan/text_reader.h"
#include "graph/status_macros.h"

namespace tailor {

template <typename Record, typename Value>
struct Field {
  const char* name;
  Value Record::*member;
};
template <typename Record, typename Value>
Field(const char*, Value Record::*) -> Field<Record, Value>;

// constexpr auto FieldsOf(std::type_identity<Record>): a tuple of Fields.
// constexpr auto NamesOf(std::type_identity<Enum>): an array of the values' names.
template <typename T>
concept HasFields = std::is_class_v<T> && requires {
  FieldsOf(std::type_identity<T>());
};
// Types with Text() and Parse(). The text has no comma, brace or bracket outside parentheses.
template <typename T>
concept HasText = requires(const T& value) {
  value.Text();
  T::Parse("");
};

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <typename T>
inline constexpr bool kIsArray = false;
template <typename T, size_t size>
inline constexpr bool kIsArray<std::array<T, size>> = true;

template <HasFields Record>
std::string RecordText(const Record& record);

// A field's value. A bool field is printed only if true, as its name.
template <typename T>
std::string ValueText(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return NamesOf(std::type_identity<T>())[static_cast<size_t>(value)];
  } else if constexpr (std::is_integral_v<T>) {
    return absl::StrCat(value);
  } else if constexpr (HasText<T>) {
    return value.Text();
  } else if constexpr (HasFields<T>) {
    return RecordText(value);
  } else if constexpr (kIsOptional<T>) {
    return ValueText(*value);
  } else {
    std::string text = "[";
    for (const auto& item : value) {
      // One record per line.
      constexpr bool record = HasFields<std::decay_t<decltype(item)>>;
      absl::StrAppend(&text, text.size() > 1 ? "," : "", record ? "\n  " : text.size() > 1 ? " " : "", ValueText(item));
    }
    return text + "]";
  }
}

template <HasFields Record>
std::string RecordText(const Record& record) {
  static const Record& new_record = *new Record();
  std::string text;
  const auto append = [&](const auto& field) {
    const auto& value = record.*field.member;
    if (value == new_record.*field.member) return;
    absl::StrAppend(&text, text.empty() ? "" : ", ", field.name);
    if constexpr (!std::is_same_v<std::decay_t<decltype(value)>, bool>) absl::StrAppend(&text, " ", ValueText(value));
  };
  std::apply([&](const auto&... field) { (append(field), ...); }, FieldsOf(std::type_identity<Record>()));
  return absl::StrCat("{", text, "}");
}

template <HasFields Record>
absl::Status ParseRecord(TextReader& in, Record* record);

template <typename T>
absl::Status ParseValue(TextReader& in, T* value) {
  if constexpr (std::is_same_v<T, bool>) {
    *value = true;
  } else if constexpr (std::is_enum_v<T>) {
    const absl::string_view word = in.TakeWord();
    constexpr auto names = NamesOf(std::type_identity<T>());
    for (size_t i = 0; i < names.size(); ++i) {
      if (word == names[i]) {
        *value = static_cast<T>(i);
        return absl::OkStatus();
      }
    }
    return in.Error(absl::StrCat("'", word, "' is none of the values"));
  } else if constexpr (std::is_integral_v<T>) {
    TAILOR_ASSIGN_OR_RETURN(const int64_t number, in.TakeInteger());
    if (!std::in_range<T>(number)) return in.Error(absl::StrCat(number, " is out of range"));
    *value = static_cast<T>(number);
  } else if constexpr (HasText<T>) {
    auto parsed = T::Parse(in.TakeUntil(",]}"));
    if (!parsed.ok()) return in.Error(parsed.status().message());
    *value = *std::move(parsed);
  } else if constexpr (HasFields<T>) {
    return ParseRecord(in, value);
  } else if constexpr (kIsOptional<T>) {
    return ParseValue(in, &value->emplace());
  } else {
    TAILOR_RETURN_IF_ERROR(in.Expect("["));
    size_t count = 0;
    if constexpr (!kIsArray<T>) value->clear();
    while (!in.Has("]")) {
      if (count > 0) TAILOR_RETURN_IF_ERROR(in.Expect(","));
      if constexpr (kIsArray<T>) {
        if (count == value->size()) return in.Error("too many values");
        TAILOR_RETURN_IF_ERROR(ParseValue(in, &(*value)[count]));
      } else {
        TAILOR_RETURN_IF_ERROR(ParseValue(in, &value->emplace_back()));
      }
      ++count;
    }
    return in.Expect("]");
  }
  return absl::OkStatus();
}

// Sets the fields that are in the text; the others are unchanged.
template <HasFields Record>
absl::Status ParseRecord(TextReader& in, Record* record) {
  TAILOR_RETURN_IF_ERROR(in.Expect("{"));
  for (bool first = true; !in.Has("}"); first = false) {
    if (!first) TAILOR_RETURN_IF_ERROR(in.Expect(","));
    const absl::string_view name = in.TakeWord();
    bool known = false;
    absl::Status status;
    const auto parse = [&](const auto& field) {
      if (name != field.name) return;
      known = true;
      status = ParseValue(in, &(record->*field.member));
    };
    std::apply([&](const auto&... field) { (parse(field), ...); }, FieldsOf(std::type_identity<Record>()));
    if (!known) return in.Error(absl::StrCat("there is no field '", name, "'"));
    TAILOR_RETURN_IF_ERROR(status);
  }
  return in.Expect("}");
}

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_RECORD_TEXT_H_
