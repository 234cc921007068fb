// Tokens of the graph text, and the spelling of names in it: identifiers bare, other names quoted.
#ifndef TAILOR_GRAPH_LEXER_H_
#define TAILOR_GRAPH_LEXER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tailor {

enum class TokenKind : uint8_t {
  kEnd,
  kWord,    // letters, digits, '_' and '.', not starting with a digit
  kNumber,  // starts with a digit: 12, 0.5, 1e-05, or a hash
  kString,  // "quoted"; text is unescaped
  kValue,   // %name or %"quoted" or %12
  kAt,      // @name or @"quoted"
  kPunct,   // one UTF-8 character, or ==
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  bool quoted = false;
  int32_t result = -1;  // kValue with a suffix #<result>
  size_t offset = 0;
};

// The last token is kEnd. `//` starts a comment up to the end of the line.
absl::StatusOr<std::vector<Token>> Tokenize(absl::string_view text);

// INVALID_ARGUMENT "line L, column C: <message>".
absl::Status ErrorAt(absl::string_view text, size_t offset, absl::string_view message);

// `name` as spelled after % or @.
std::string NameText(absl::string_view name);
// `name` as spelled in a dim expression: words of the grammar are quoted too.
std::string SymbolText(absl::string_view name);

}  // namespace tailor

#endif  // TAILOR_GRAPH_LEXER_H_
