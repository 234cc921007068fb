// Random expressions, and their values by plain arithmetic: an oracle for the symbolic core.
#ifndef TAILOR_TESTS_SUPPORT_RANDOM_DIM_H_
#define TAILOR_TESTS_SUPPORT_RANDOM_DIM_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>

#include "absl/types/span.h"
#include "graph/dim_expr.h"

namespace tailor {

// A random expression over symbols 0 to 2, built twice: as DimExpr, and as the value that plain arithmetic gives.
// Values of symbols up to 12 keep a depth of 4 within 64 bits.
class RandomDim {
 public:
  explicit RandomDim(uint32_t seed) : random_(seed) {}

  // nullopt: the value is undefined (divisor below 1, or broadcast of unequal dim sizes).
  std::pair<DimExpr, std::optional<int64_t>> Make(int depth, absl::Span<const int64_t> symbols) {
    int pick = Pick(depth == 0 ? 2 : 10);
    if (pick == 0) {
      SymbolId id = Pick(3);
      return {DimExpr::Symbol(id), symbols[id]};
    }
    if (pick == 1) {
      int64_t constant = Pick(14) - 3;
      return {constant, constant};
    }
    auto [a, x] = Make(depth - 1, symbols);
    auto [b, y] = Make(depth - 1, symbols);
    if (!x || !y) return {a, std::nullopt};
    switch (pick) {
      case 2:
      case 3:
        return {a + b, *x + *y};
      case 4:
        return {a - b, *x - *y};
      case 5:
        return {a * b, *x * *y};
      case 6:
        return {DimExpr::FloorDiv(a, b), *y > 0 ? std::optional(FloorDiv(*x, *y)) : std::nullopt};
      case 7:
        return {DimExpr::Mod(a, b), *y > 0 ? std::optional(*x - *y * FloorDiv(*x, *y)) : std::nullopt};
      case 8:
        return Pick(2) ? std::pair(DimExpr::Min(a, b), std::optional(std::min(*x, *y)))
                       : std::pair(DimExpr::Max(a, b), std::optional(std::max(*x, *y)));
      default:
        if (*x != *y && *x != 1 && *y != 1) return {a, std::nullopt};
        return {DimExpr::Bcast(a, b), *x == 1 ? *y : *x};
    }
  }

  int Pick(int bound) { return static_cast<int>(random_() % bound); }

 private:
  static int64_t FloorDiv(int64_t a, int64_t b) { return (a - ((a % b + b) % b)) / b; }

  std::mt19937 random_;
};

}  // namespace tailor

#endif  // TAILOR_TESTS_SUPPORT_RANDOM_DIM_H_
