// The symbolic core against plain arithmetic: random expressions, evaluated operation by operation in 128 bits.
//
// TAILOR_TEST_ALL: 10^6 expressions, else 20000.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <random>
#include <vector>

#include "analysis/fact_store.h"
#include "gtest/gtest.h"

namespace tailor {
namespace {

using Wide = __int128;
using Values = std::array<int64_t, 3>;

// How an expression was made; evaluated as written.
struct Tree {
  enum class Kind : uint8_t { kSymbol, kConstant, kAdd, kSub, kMul, kFloorDiv, kMod, kMin, kMax, kBcast };
  Kind kind;
  int64_t number = 0;  // symbol or constant
  std::vector<Tree> operands;

  // nullopt: a bcast of extents that differ there, or a divisor below 1.
  std::optional<Wide> At(const Values& values) const {
    if (kind == Kind::kSymbol) return values[number];
    if (kind == Kind::kConstant) return number;
    const std::optional<Wide> lhs = operands[0].At(values), rhs = operands[1].At(values);
    if (!lhs || !rhs) return std::nullopt;
    const Wide a = *lhs, b = *rhs;
    const auto quotient = [&] { return a / b - (a % b < 0 ? 1 : 0); };
    switch (kind) {
      case Kind::kAdd:
        return a + b;
      case Kind::kSub:
        return a - b;
      case Kind::kMul:
        return a * b;
      case Kind::kMin:
        return std::min(a, b);
      case Kind::kMax:
        return std::max(a, b);
      case Kind::kFloorDiv:
        return b < 1 ? std::nullopt : std::optional<Wide>(quotient());
      case Kind::kMod:
        return b < 1 ? std::nullopt : std::optional<Wide>(a - quotient() * b);
      default:
        if (a < 0 || b < 0 || (a != b && a != 1 && b != 1)) return std::nullopt;
        return a == 1 ? b : a;
    }
  }

  DimExpr Dim() const {
    if (kind == Kind::kSymbol) return DimExpr::Symbol(static_cast<SymbolId>(number));
    if (kind == Kind::kConstant) return number;
    const DimExpr a = operands[0].Dim(), b = operands[1].Dim();
    switch (kind) {
      case Kind::kAdd:
        return a + b;
      case Kind::kSub:
        return a - b;
      case Kind::kMul:
        return a * b;
      case Kind::kMin:
        return DimExpr::Min(a, b);
      case Kind::kMax:
        return DimExpr::Max(a, b);
      case Kind::kFloorDiv:
        return DimExpr::FloorDiv(a, b);
      case Kind::kMod:
        return DimExpr::Mod(a, b);
      default:
        return DimExpr::Bcast(a, b);
    }
  }
};

class Maker {
 public:
  explicit Maker(std::mt19937& random) : random_(random) {}

  int64_t Number(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }

  Tree Make(int depth) {
    if (depth == 0 || Number(0, 5) == 0) {
      if (Number(0, 2) == 0) return {Tree::Kind::kConstant, Number(-5, 9), {}};
      return {Tree::Kind::kSymbol, Number(0, 2), {}};
    }
    const auto kind = static_cast<Tree::Kind>(Number(2, 9));
    Tree lhs = Make(depth - 1);
    const bool divides = kind == Tree::Kind::kFloorDiv || kind == Tree::Kind::kMod;
    Tree rhs = divides && Number(0, 7) != 0 ? Tree{Tree::Kind::kConstant, Number(1, 8), {}} : Make(depth - 1);
    return {kind, 0, {std::move(lhs), std::move(rhs)}};
  }

 private:
  std::mt19937& random_;
};

// Facts of three extents, and values that have them.
struct Extents {
  explicit Extents(Maker& make) {
    for (SymbolInfo& symbol : symbols) {
      symbol.multiple_of = make.Number(0, 2) == 0 ? make.Number(2, 4) : 1;
      symbol.min = symbol.multiple_of * make.Number(0, 2);
      symbol.max = symbol.min + symbol.multiple_of * make.Number(0, 12);
    }
  }
  Values Draw(Maker& make) const {
    Values values;
    for (size_t i = 0; i < values.size(); ++i) {
      const SymbolInfo& s = symbols[i];
      values[i] = s.min + s.multiple_of * make.Number(0, (s.max - s.min) / s.multiple_of);
    }
    return values;
  }
  std::vector<SymbolInfo> symbols{{.name = "a"}, {.name = "b"}, {.name = "c"}};
};

TEST(DimProperty, CanonicalFormsRangesDivisorsAndEqualitiesHold) {
  std::mt19937 random(30);
  Maker make(random);
  const int count = std::getenv("TAILOR_TEST_ALL") != nullptr ? 1000000 : 20000;
  int64_t evaluated = 0, equal = 0, bounded = 0;
  for (int i = 0; i < count; ++i) {
    const Extents extents(make);
    const FactStore store(extents.symbols, {{0, 0, 0}, {1, 0, 1}, {2, 0, 2}});
    const Tree tree = make.Make(4), other = make.Make(3);
    const DimExpr e = tree.Dim(), f = other.Dim();
    if (!e.valid() || !f.valid()) continue;
    const DimExpr canonical = store.Canonical(e);
    const Range range = store.RangeOf(e);
    const int64_t divisor = store.DivisorOf(e);
    const bool same = store.ProvablyEqual(e, f);
    equal += same;
    bounded += range.max < INT64_MAX;
    for (int j = 0; j < 6; ++j) {
      const Values values = extents.Draw(make);
      const std::optional<Wide> wanted = tree.At(values);
      if (!wanted || *wanted > INT32_MAX || *wanted < INT32_MIN) continue;
      const auto text = [&] {
        return ::testing::Message() << e.ToText([](SymbolId id) { return std::string(1, 'a' + id); }) << " at "
                                    << values[0] << ", " << values[1] << ", " << values[2];
      };
      ++evaluated;
      ASSERT_EQ(e.Evaluate(values), static_cast<int64_t>(*wanted)) << text();
      ASSERT_TRUE(canonical.valid()) << text();
      ASSERT_EQ(canonical.Evaluate(values), static_cast<int64_t>(*wanted)) << text();
      ASSERT_LE(range.min, static_cast<int64_t>(*wanted)) << text();
      ASSERT_GE(range.max, static_cast<int64_t>(*wanted)) << text();
      ASSERT_EQ(divisor == 0 ? static_cast<int64_t>(*wanted) : static_cast<int64_t>(*wanted) % divisor, 0) << text();
      if (const std::optional<Wide> of_other = other.At(values); same && of_other) {
        ASSERT_EQ(static_cast<int64_t>(*wanted), static_cast<int64_t>(*of_other)) << text();
      }
    }
  }
  EXPECT_GT(evaluated, count);
  EXPECT_GT(equal, count / 200);
  EXPECT_GT(bounded, count / 4);
}

}  // namespace
}  // namespace tailor
