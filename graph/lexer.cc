#include "graph/lexer.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tailor {
namespace {

bool IsWordStart(char c) { return absl::ascii_isalpha(c) || c == '_'; }
bool IsWordPart(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.'; }

// Whether `c` is a continuation byte of a UTF-8 character.
bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

bool IsWord(absl::string_view name) {
  return !name.empty() && IsWordStart(name[0]) && std::all_of(name.begin(), name.end(), IsWordPart);
}

std::string Quoted(absl::string_view name) { return absl::StrCat("\"", absl::Utf8SafeCEscape(name), "\""); }

class Lexer {
 public:
  explicit Lexer(absl::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<Token>> Run() {
    std::vector<Token> tokens;
    do {
      SkipSpace();
      Token token;
      token.offset = position_;
      if (absl::Status status = Next(&token); !status.ok()) return status;
      tokens.push_back(std::move(token));
    } while (tokens.back().kind != TokenKind::kEnd);
    return tokens;
  }

 private:
  char Peek(size_t ahead = 0) const { return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0'; }

  void SkipSpace() {
    while (position_ < text_.size()) {
      if (absl::ascii_isspace(Peek())) {
        ++position_;
      } else if (Peek() == '/' && Peek(1) == '/') {
        while (position_ < text_.size() && Peek() != '\n') ++position_;
      } else {
        return;
      }
    }
  }

  absl::Status Next(Token* token) {
    if (position_ >= text_.size()) return absl::OkStatus();
    char c = Peek();
    if (c == '"') return TakeName(token, TokenKind::kString);
    if (IsWordStart(c)) return TakeName(token, TokenKind::kWord);
    if (absl::ascii_isdigit(c)) return TakeNumber(token);
    ++position_;
    if (c == '%') return TakeValue(token);
    if (c == '@') return TakeName(token, TokenKind::kAt);
    token->kind = TokenKind::kPunct;
    while (IsContinuation(Peek())) ++position_;
    token->text = std::string(text_.substr(token->offset, position_ - token->offset));
    if ((c == '=' || c == '>') && Peek() == '=') {
      ++position_;
      token->text += '=';
    }
    return absl::OkStatus();
  }

  // A word or a quoted string.
  absl::Status TakeName(Token* token, TokenKind kind) {
    token->kind = kind;
    size_t start = position_;
    if (Peek() != '"') {
      while (IsWordPart(Peek())) ++position_;
      token->text = std::string(text_.substr(start, position_ - start));
      return token->text.empty() ? Error("expected a name") : absl::OkStatus();
    }
    token->quoted = true;
    ++position_;
    while (position_ < text_.size() && Peek() != '"') position_ += Peek() == '\\' ? 2 : 1;
    if (position_ >= text_.size()) return ErrorAt(text_, start, "the string has no end");
    std::string error;
    if (!absl::CUnescape(text_.substr(start + 1, position_ - start - 1), &token->text, &error)) {
      const bool cut = !error.empty() && !absl::ascii_isascii(error.back());  // the error ends mid-character
      return ErrorAt(text_, start, absl::StrCat("bad string: ", cut ? "unknown escape of a character" : error));
    }
    ++position_;
    return absl::OkStatus();
  }

  absl::Status TakeNumber(Token* token) {
    token->kind = TokenKind::kNumber;
    size_t start = position_;
    bool decimal = true;
    while (IsWordPart(Peek())) {
      bool exponent = decimal && (Peek() == 'e' || Peek() == 'E') && (Peek(1) == '-' || Peek(1) == '+') &&
                      absl::ascii_isdigit(Peek(2));
      decimal = decimal && (absl::ascii_isdigit(Peek()) || Peek() == '.');
      position_ += exponent ? 2 : 1;
    }
    token->text = std::string(text_.substr(start, position_ - start));
    return absl::OkStatus();
  }

  absl::Status TakeValue(Token* token) {
    if (absl::Status status = TakeName(token, TokenKind::kValue); !status.ok()) return status;
    if (Peek() != '#') return absl::OkStatus();
    size_t start = ++position_;
    while (absl::ascii_isdigit(Peek())) ++position_;
    if (!absl::SimpleAtoi(text_.substr(start, position_ - start), &token->result)) {
      return Error("expected a result number after #");
    }
    return absl::OkStatus();
  }

  absl::Status Error(absl::string_view message) const { return ErrorAt(text_, position_, message); }

  absl::string_view text_;
  size_t position_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<Token>> Tokenize(absl::string_view text) { return Lexer(text).Run(); }

absl::Status ErrorAt(absl::string_view text, size_t offset, absl::string_view message) {
  absl::string_view before = text.substr(0, std::min(offset, text.size()));
  size_t line = 1 + std::count(before.begin(), before.end(), '\n');
  size_t newline = before.rfind('\n');
  size_t column = newline == absl::string_view::npos ? before.size() + 1 : before.size() - newline;
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ", column ", column, ": ", message));
}

std::string NameText(absl::string_view name) { return IsWord(name) ? std::string(name) : Quoted(name); }

std::string SymbolText(absl::string_view name) {
  constexpr absl::string_view kReserved[] = {"floordiv", "mod", "min", "max", "bcast"};
  bool reserved = std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved);
  return reserved ? Quoted(name) : NameText(name);
}

}  // namespace tailor
