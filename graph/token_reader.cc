#include "graph/token_reader.h"

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "graph/element.h"

namespace tailor {
namespace {

constexpr int kMaxDepth = 1200;  // exceeds the depth of any valid dim expression

}  // namespace

// A function of the dim grammar: an atom kind, or a function composed of them.
struct TokenReader::DimFunction {
  absl::string_view name;
  DimExpr (*of)(const DimExpr& a, const DimExpr& b);
};

const TokenReader::DimFunction* TokenReader::FindFunction() const {
  static constexpr DimFunction kFunctions[] = {
      {"floordiv", DimExpr::FloorDiv},
      {"mod", DimExpr::Mod},
      {"min", DimExpr::Min},
      {"max", DimExpr::Max},
      {"bcast", DimExpr::Bcast},
      {"ceildiv", DimExpr::CeilDiv},
      {"truncdiv", DimExpr::TruncDiv},
      {"truncmod", DimExpr::TruncMod},
      {"less", DimExpr::Less},
      {"equal", DimExpr::Equal},
      {"select", nullptr},
  };
  if (Peek().kind != TokenKind::kWord || !IsPunct("(", 1)) return nullptr;
  const auto function = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                     [&](const DimFunction& f) { return f.name == Peek().text; });
  return function == std::end(kFunctions) ? nullptr : function;
}

const Token& TokenReader::Peek(size_t ahead) const { return tokens_[std::min(position_ + ahead, tokens_.size() - 1)]; }

const Token& TokenReader::Take() {
  const Token& token = Peek();
  if (token.kind != TokenKind::kEnd) ++position_;
  return token;
}

bool TokenReader::TakeIf(bool present) {
  if (present) Take();
  return present;
}

bool TokenReader::IsPunct(absl::string_view text, size_t ahead) const {
  return Peek(ahead).kind == TokenKind::kPunct && Peek(ahead).text == text;
}

bool TokenReader::IsWord(absl::string_view text, size_t ahead) const {
  return Peek(ahead).kind == TokenKind::kWord && Peek(ahead).text == text;
}

absl::Status TokenReader::ErrorHere(absl::string_view message) const { return ErrorAt(text_, Peek().offset, message); }

absl::Status TokenReader::ErrorAtToken(size_t position, absl::string_view message) const {
  return ErrorAt(text_, tokens_[position].offset, message);
}

absl::Status TokenReader::ExpectPunct(absl::string_view text) {
  return TakeIf(IsPunct(text)) ? absl::OkStatus() : ErrorHere(absl::StrCat("expected '", text, "'"));
}

absl::Status TokenReader::ExpectWord(absl::string_view text) {
  return TakeIf(IsWord(text)) ? absl::OkStatus() : ErrorHere(absl::StrCat("expected '", text, "'"));
}

absl::StatusOr<std::string> TokenReader::TakeKind(TokenKind kind, absl::string_view what) {
  if (Peek().kind != kind) return ErrorHere(absl::StrCat("expected ", what));
  return Take().text;
}

absl::StatusOr<std::string> TokenReader::TakeSigned(absl::string_view what) {
  std::string sign = TakeIf(IsPunct("-")) ? "-" : "";
  if (Peek().kind != TokenKind::kNumber && Peek().kind != TokenKind::kWord) {
    return ErrorHere(absl::StrCat("expected ", what));
  }
  return sign + Take().text;
}

absl::StatusOr<int64_t> TokenReader::TakeInt() {
  size_t start = position_;
  TAILOR_ASSIGN_OR_RETURN(std::string text, TakeSigned("an integer"));
  int64_t value;
  if (absl::SimpleAtoi(text, &value)) return value;
  return ErrorAtToken(start, absl::StrCat("'", text, "' is no 64-bit integer"));
}

absl::StatusOr<std::vector<int64_t>> TokenReader::TakeInts() {
  return TakeList<int64_t>([this] { return TakeInt(); });
}

absl::StatusOr<Shape> TokenReader::TakeDims(const Graph& graph) {
  return TakeList<DimExpr>([&] { return TakeDim(graph); });
}

absl::StatusOr<DType> TokenReader::TakeDType() {
  const DType dtype = Peek().kind == TokenKind::kWord ? DTypeOf(Peek().text) : DType::kInvalid;
  if (!IsValid(dtype)) return ErrorHere("expected an element type");
  Take();
  return dtype;
}

absl::StatusOr<TensorType> TokenReader::TakeType(const Graph& graph) {
  TensorType type;
  TAILOR_ASSIGN_OR_RETURN(type.dtype, TakeDType());
  TAILOR_ASSIGN_OR_RETURN(type.shape, TakeDims(graph));
  return type;
}

absl::StatusOr<DimExpr> TokenReader::TakeDim(const Graph& graph) {
  return TakeDim([&](absl::string_view name) { return graph.FindSymbol(name); });
}

absl::StatusOr<DimExpr> TokenReader::TakeDim(FindSymbol find) {
  size_t start = position_;
  TAILOR_ASSIGN_OR_RETURN(DimExpr dim, TakeSum(find));
  if (dim.valid()) return dim;
  return ErrorAtToken(start, absl::StrCat("this dim has no value: ", dim.problem()));
}

absl::Status TokenReader::Enter(int levels) {
  depth_ += levels;
  return depth_ > kMaxDepth ? ErrorHere("nested too deep") : absl::OkStatus();
}

absl::StatusOr<DimExpr> TokenReader::TakeSum(FindSymbol find) {
  TAILOR_RETURN_IF_ERROR(Enter(1));
  TAILOR_ASSIGN_OR_RETURN(DimExpr sum, TakeProduct(find, TakeIf(IsPunct("-"))));
  while (IsPunct("+") || IsPunct("-")) {
    TAILOR_ASSIGN_OR_RETURN(DimExpr term, TakeProduct(find, Take().text == "-"));
    sum = sum + term;
  }
  Leave(1);
  return sum;
}

absl::StatusOr<DimExpr> TokenReader::TakeProduct(FindSymbol find, bool negative) {
  TAILOR_ASSIGN_OR_RETURN(DimExpr product, TakeFactor(find, negative));
  while (TakeIf(IsPunct("*"))) {
    TAILOR_ASSIGN_OR_RETURN(DimExpr factor, TakeFactor(find, false));
    product = product * factor;
  }
  return product;
}

absl::StatusOr<DimExpr> TokenReader::TakeFactor(FindSymbol find, bool negative) {
  if (Peek().kind == TokenKind::kNumber) {
    int64_t value;
    if (!absl::SimpleAtoi(absl::StrCat(negative ? "-" : "", Peek().text), &value)) {
      return ErrorHere("expected a 64-bit integer");
    }
    Take();
    return DimExpr(value);
  }
  DimExpr sign = negative ? -1 : 1;
  if (TakeIf(IsPunct("("))) {
    TAILOR_ASSIGN_OR_RETURN(DimExpr inner, TakeSum(find));
    TAILOR_RETURN_IF_ERROR(ExpectPunct(")"));
    return sign * inner;
  }
  if (const DimFunction* function = FindFunction()) {
    TAILOR_ASSIGN_OR_RETURN(DimExpr result, TakeFunction(find, *function));
    return sign * result;
  }
  if (Peek().kind != TokenKind::kWord && Peek().kind != TokenKind::kString) {
    return ErrorHere("expected a dim: an integer, a symbol or a function of dims");
  }
  std::optional<SymbolId> symbol = find(Peek().text);
  if (!symbol) {
    return ErrorHere(absl::StrCat("unknown symbol \"", Peek().text, "\"; the where clause can declare it"));
  }
  Take();
  return sign * DimExpr::Symbol(*symbol);
}

absl::StatusOr<DimExpr> TokenReader::TakeFunction(FindSymbol find, const DimFunction& function) {
  Take();
  TAILOR_RETURN_IF_ERROR(ExpectPunct("("));
  DimExpr condition;
  if (function.of == nullptr) {
    TAILOR_ASSIGN_OR_RETURN(condition, TakeSum(find));
    TAILOR_RETURN_IF_ERROR(ExpectPunct(","));
  }
  TAILOR_ASSIGN_OR_RETURN(DimExpr lhs, TakeSum(find));
  TAILOR_RETURN_IF_ERROR(ExpectPunct(","));
  TAILOR_ASSIGN_OR_RETURN(DimExpr rhs, TakeSum(find));
  TAILOR_RETURN_IF_ERROR(ExpectPunct(")"));
  return function.of == nullptr ? DimExpr::Select(condition, lhs, rhs) : function.of(lhs, rhs);
}

}  // namespace tailor
