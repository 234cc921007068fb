#include "codegen/plan/text_reader.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/status_macros.h"

namespace tailor {

bool TextReader::AtEnd() {
  SkipSpace();
  return rest().empty();
}

void TextReader::SkipSpace() {
  while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
}

bool TextReader::Has(absl::string_view token) {
  SkipSpace();
  return absl::StartsWith(rest(), token);
}

bool TextReader::TakeIf(absl::string_view token) {
  if (!Has(token)) return false;
  at_ += token.size();
  return true;
}

absl::Status TextReader::Expect(absl::string_view token) {
  return TakeIf(token) ? absl::OkStatus() : Error(absl::StrCat("expected '", token, "'"));
}

absl::string_view TextReader::TakeWord() {
  SkipSpace();
  size_t length = 0;
  while (absl::ascii_isalnum(Next(length)) || Next(length) == '_') ++length;
  at_ += length;
  return text_.substr(at_ - length, length);
}

absl::string_view TextReader::TakeUntil(absl::string_view ends) {
  SkipSpace();
  size_t length = 0;
  for (int depth = 0; at_ + length < text_.size(); ++length) {
    const char c = Next(length);
    if (depth == 0 && absl::StrContains(ends, c)) break;
    depth += (c == '(') - (c == ')');
  }
  at_ += length;
  return text_.substr(at_ - length, length);
}

absl::StatusOr<int64_t> TextReader::TakeInteger() {
  SkipSpace();
  size_t length = Next() == '-' ? 1 : 0;
  while (absl::ascii_isdigit(Next(length))) ++length;
  int64_t value;
  if (!absl::SimpleAtoi(text_.substr(at_, length), &value)) return Error("expected an integer");
  at_ += length;
  return value;
}

absl::StatusOr<int> TextReader::TakeNumbered(absl::string_view prefix) {
  TAILOR_RETURN_IF_ERROR(Expect(prefix));
  if (!absl::ascii_isdigit(Next())) return Error("expected a number");
  TAILOR_ASSIGN_OR_RETURN(const int64_t number, TakeInteger());
  if (number > kMostNumbers) return Error("a number is too large");
  return static_cast<int>(number);
}

absl::Status TextReader::Error(absl::string_view what) const {
  const absl::string_view before = text_.substr(0, at_);
  const size_t line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t start = before.rfind('\n');
  const size_t column = start == absl::string_view::npos ? at_ + 1 : at_ - start;
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ", column ", column, ": ", what));
}

}  // namespace tailor
