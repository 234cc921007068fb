#include "graph/lexer.h"

#include <gtest/gtest.h>

namespace tailor {
namespace {

std::string Texts(absl::string_view text) {
  absl::StatusOr<std::vector<Token>> tokens = Tokenize(text);
  if (!tokens.ok()) return std::string(tokens.status().message());
  std::string all;
  for (const Token& token : *tokens) all += token.text + "|";
  return all;
}

TEST(Lexer, SplitsTokens) {
  EXPECT_EQ(Texts("%x.1, %3#2 = dot // to the end\n@w {a = -1.5e-05}"), "x.1|,|3|=|dot|w|{|a|=|-|1.5e-05|}||");
  EXPECT_EQ(Texts("0123456789abcdef 12e4-3 M == B"), "0123456789abcdef|12e4|-|3|M|==|B||");
}

TEST(Lexer, CharactersAreWhole) {
  EXPECT_EQ(Texts("a\u00e9b \u20ac\U0001F600="), "a|\u00e9|b|\u20ac|\U0001F600|=||");
  EXPECT_EQ(Texts("\xC3"), "\xC3||") << "no UTF-8";
}

TEST(Lexer, UnescapesStrings) {
  absl::StatusOr<std::vector<Token>> tokens = Tokenize(R"(%"a \"b\"\n" @"12")");
  ASSERT_TRUE(tokens.ok());
  EXPECT_EQ((*tokens)[0].kind, TokenKind::kValue);
  EXPECT_EQ((*tokens)[0].text, "a \"b\"\n");
  EXPECT_TRUE((*tokens)[1].quoted);
}

TEST(Lexer, SaysWhereItFails) {
  EXPECT_EQ(Texts("a\n  \"open"), "line 2, column 3: the string has no end");
  EXPECT_EQ(Texts("\"tail\\"), "line 1, column 1: the string has no end");
  EXPECT_EQ(Texts("\"\\q\""), "line 1, column 1: bad string: Unknown escape sequence: \\q");
  EXPECT_EQ(Texts("\"\\\u00e9\""), "line 1, column 1: bad string: unknown escape of a character");
  EXPECT_EQ(Texts("% x"), "line 1, column 2: expected a name");
  EXPECT_EQ(Texts("%x#y"), "line 1, column 4: expected a result number after #");
}

TEST(Lexer, NamesAreQuotedWhereNeeded) {
  EXPECT_EQ(NameText("encoder.0"), "encoder.0");
  EXPECT_EQ(NameText("12"), "\"12\"");
  EXPECT_EQ(NameText("a/b"), "\"a/b\"");
  EXPECT_EQ(NameText(""), "\"\"");
  EXPECT_EQ(NameText("min"), "min");
  EXPECT_EQ(SymbolText("min"), "\"min\"");
}

}  // namespace
}  // namespace tailor
