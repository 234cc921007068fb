// A cursor over the tokens of a graph text. Reads the parts of the grammar that need no value scope: names, numbers,
// lists, dims, types. A failed call leaves the position unspecified.
#ifndef TAILOR_GRAPH_TOKEN_READER_H_
#define TAILOR_GRAPH_TOKEN_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"
#include "graph/lexer.h"
#include "graph/status_macros.h"

namespace tailor {

// Looks a symbol up by name; nullopt if there is none.
using FindSymbol = absl::FunctionRef<std::optional<SymbolId>(absl::string_view name)>;

class TokenReader {
 public:
  // `tokens` are those of `text`, which outlives the reader.
  TokenReader(absl::string_view text, std::vector<Token> tokens) : text_(text), tokens_(std::move(tokens)) {}

  const Token& Peek(size_t ahead = 0) const;
  const Token& Take();  // stays on the end token
  bool TakeIf(bool present);
  size_t position() const { return position_; }
  void Seek(size_t position) { position_ = position; }

  bool IsPunct(absl::string_view text, size_t ahead = 0) const;
  bool IsWord(absl::string_view text, size_t ahead = 0) const;

  absl::Status ErrorHere(absl::string_view message) const;
  absl::Status ErrorAtToken(size_t position, absl::string_view message) const;
  absl::Status ExpectPunct(absl::string_view text);
  absl::Status ExpectWord(absl::string_view text);

  absl::StatusOr<std::string> TakeKind(TokenKind kind, absl::string_view what);
  // A signed number, or a word, as text: "-0.5", "inf".
  absl::StatusOr<std::string> TakeSigned(absl::string_view what);
  absl::StatusOr<int64_t> TakeInt();
  absl::StatusOr<std::vector<int64_t>> TakeInts();
  absl::StatusOr<DimExpr> TakeDim(const Graph& graph);
  absl::StatusOr<DimExpr> TakeDim(FindSymbol find);
  absl::StatusOr<Shape> TakeDims(const Graph& graph);
  absl::StatusOr<DType> TakeDType();
  absl::StatusOr<TensorType> TakeType(const Graph& graph);

  // Reads '[' item, item ']'; `take` reads one item.
  template <typename T, typename TakeItem>
  absl::StatusOr<std::vector<T>> TakeList(TakeItem take) {
    std::vector<T> items;
    TAILOR_RETURN_IF_ERROR(ExpectPunct("["));
    while (!IsPunct("]")) {
      if (!items.empty()) TAILOR_RETURN_IF_ERROR(ExpectPunct(","));
      TAILOR_ASSIGN_OR_RETURN(T item, take());
      items.push_back(std::move(item));
    }
    Take();
    return items;
  }

  // Bounds the caller's recursion: fails if `levels` more would exceed the maximal depth.
  absl::Status Enter(int levels);
  void Leave(int levels) { depth_ -= levels; }

 private:
  absl::StatusOr<DimExpr> TakeSum(FindSymbol find);
  absl::StatusOr<DimExpr> TakeProduct(FindSymbol find, bool negative);
  absl::StatusOr<DimExpr> TakeFactor(FindSymbol find, bool negative);
  struct DimFunction;
  const DimFunction* FindFunction() const;
  absl::StatusOr<DimExpr> TakeFunction(FindSymbol find, const DimFunction& function);

  absl::string_view text_;
  std::vector<Token> tokens_;
  size_t position_ = 0;
  int depth_ = 0;
};

}  // namespace tailor

#endif  // TAILOR_GRAPH_TOKEN_READER_H_
