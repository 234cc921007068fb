#include "graph/dim_expr.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/hash/hash.h"
#include "tests/support/random_dim.h"

namespace tailor {
namespace {

const DimExpr A = DimExpr::Symbol(0), B = DimExpr::Symbol(1), S = DimExpr::Symbol(2);

std::string Text(const DimExpr& e) {
  return e.ToText([](SymbolId id) { return std::string(1, "ABS"[id]); });
}

TEST(DimExpr, PrintsSortedPolynomials) {
  EXPECT_EQ(Text(1 + DimExpr::FloorDiv(S, 2) + S * B * 4), "4*B*S + floordiv(S, 2) + 1");
  EXPECT_EQ(Text(0 - A - 2 * B + 3), "-A - 2*B + 3");
  EXPECT_EQ(Text((A + 1) * (A - 1)), "A*A - 1");
  EXPECT_EQ(Text(A - A), "0");
  EXPECT_EQ(Text(DimExpr(INT64_MIN)), "-9223372036854775808");
}

TEST(DimExpr, EqualPolynomialsAreEqualStructures) {
  EXPECT_EQ((A + B) * (A + B), A * A + 2 * A * B + B * B);
  EXPECT_EQ((A + 1) * (B + 1) - A * B, B + 1 + A);
  EXPECT_NE(A * B, A + B);
  EXPECT_EQ(absl::HashOf((A + B) * S), absl::HashOf(S * B + S * A));
}

TEST(DimExpr, OrderIsTotal) {
  std::vector<DimExpr> all = {0, 1, A, B, A * B, A + 1, DimExpr::Min(A, B), DimExpr::FloorDiv(A, 2), A * A};
  for (const DimExpr& a : all) {
    for (const DimExpr& b : all) {
      EXPECT_EQ(DimExpr::Compare(a, b), -DimExpr::Compare(b, a)) << Text(a) << " and " << Text(b);
      EXPECT_EQ(DimExpr::Compare(a, b) == 0, &a == &b);
    }
  }
}

TEST(DimExpr, FloorDivFolds) {
  EXPECT_EQ(DimExpr::FloorDiv(7, 2), 3);
  EXPECT_EQ(DimExpr::FloorDiv(-7, 2), -4);
  EXPECT_EQ(DimExpr::FloorDiv(A, 1), A);
  EXPECT_EQ(DimExpr::FloorDiv(4 * S + 3, 4), S);
  EXPECT_EQ(DimExpr::FloorDiv(4 * S - 1, 4), S - 1);
  EXPECT_EQ(Text(DimExpr::FloorDiv(4 * S + A + 9, 4)), "S + floordiv(A + 1, 4) + 2");
  EXPECT_EQ(DimExpr::FloorDiv(2 * S + 1, 4), DimExpr::FloorDiv(S, 2));
  EXPECT_EQ(DimExpr::FloorDiv(DimExpr::FloorDiv(S, 2), 3), DimExpr::FloorDiv(S, 6));
  EXPECT_EQ(DimExpr::FloorDiv(DimExpr::FloorDiv(S, 2) + 1, 3), DimExpr::FloorDiv(S + 2, 6));
  EXPECT_EQ(DimExpr::FloorDiv(DimExpr::Mod(S, 4), 4), 0);
  EXPECT_EQ(DimExpr::FloorDiv(A * B * 6, B * 3), 2 * A);
  EXPECT_EQ(DimExpr::FloorDiv(A * B + A, B + 1), A);
  EXPECT_EQ(Text(DimExpr::FloorDiv(A * B + 1, B)), "A + floordiv(1, B)");
  EXPECT_EQ(Text(DimExpr::FloorDiv(A * A + 1, B + 1)), "floordiv(A*A + 1, B + 1)");
  EXPECT_EQ(DimExpr::CeilDiv(S, 16), DimExpr::FloorDiv(S + 15, 16));
}

TEST(DimExpr, ModFolds) {
  EXPECT_EQ(DimExpr::Mod(-7, 4), 1);
  EXPECT_EQ(DimExpr::Mod(A, 1), 0);
  EXPECT_EQ(DimExpr::Mod(8 * S + 11, 4), 3);
  EXPECT_EQ(DimExpr::Mod(5 * S, 4), DimExpr::Mod(S, 4));
  EXPECT_EQ(Text(DimExpr::Mod(6 * S + 3, 4)), "2*mod(S + 1, 2) + 1");
  EXPECT_EQ(DimExpr::Mod(DimExpr::Mod(S, 12), 4), DimExpr::Mod(S, 4));
  EXPECT_EQ(DimExpr::Mod(DimExpr::Mod(S, 3), 4), DimExpr::Mod(S, 3));
  EXPECT_EQ(DimExpr::Mod(DimExpr::Mod(S, 3) + 1, 4), DimExpr::Mod(S, 3) + 1);
  EXPECT_EQ(Text(DimExpr::Mod(DimExpr::Mod(S, 3) + 2, 4)), "mod(mod(S, 3) + 2, 4)");
  EXPECT_EQ(Text(DimExpr::FloorDiv(DimExpr::Mod(S, 3) + 2, 4)), "floordiv(mod(S, 3) + 2, 4)");
  EXPECT_EQ(DimExpr::Mod(A * B, B), 0);
}

TEST(DimExpr, MinMaxAndBcastFold) {
  EXPECT_EQ(DimExpr::Min(A, A), A);
  EXPECT_EQ(DimExpr::Min(3, 5), 3);
  EXPECT_EQ(DimExpr::Max(A + 1, A + 4), A + 4);
  EXPECT_EQ(DimExpr::Min(B, A), DimExpr::Min(A, B));
  EXPECT_EQ(DimExpr::Max(DimExpr::Max(A, S), B), DimExpr::Max(DimExpr::Max(B, S), A));
  EXPECT_EQ(Text(DimExpr::Min(DimExpr::Min(A, 7), DimExpr::Min(5, B))), "min(min(A, B), 5)");
  EXPECT_EQ(DimExpr::Bcast(A, 1), A);
  EXPECT_EQ(DimExpr::Bcast(A, 6), 6);
  EXPECT_EQ(DimExpr::Bcast(0, 1), 0);
  EXPECT_EQ(DimExpr::Bcast(1, 1), 1);
  EXPECT_EQ(DimExpr::Bcast(B, DimExpr::Bcast(A, B)), DimExpr::Bcast(A, B));
  EXPECT_EQ(DimExpr::Bcast(DimExpr::Bcast(A, B), 4), 4);
}

// What PyTorch's pools with ceil_mode give, whose last window starts inside: one term a stage.
TEST(DimExpr, MinAndMaxOfFloorDivisionsFold) {
  const DimExpr h = DimExpr::Symbol(0);
  EXPECT_EQ(DimExpr::Min(DimExpr::FloorDiv(h, 2), DimExpr::FloorDiv(h + 1, 2)), DimExpr::FloorDiv(h, 2));
  EXPECT_EQ(DimExpr::Max(DimExpr::FloorDiv(h, 2) * 2 + 1 - h, 0), DimExpr::FloorDiv(h, 2) * 2 + 1 - h);
  DimExpr size = h;
  for (int stage = 1; stage <= 8; ++stage) {
    const DimExpr all = DimExpr::CeilDiv(size - 3, 2) + 1, inside = DimExpr::CeilDiv(size, 2);
    const DimExpr high = DimExpr::Max((DimExpr::Min(all, inside) - 1) * 2 + 3 - size, 0);
    size = DimExpr::FloorDiv(size + high - 3, 2) + 1;
    EXPECT_EQ(size, DimExpr::FloorDiv(h, int64_t{1} << stage));
  }
}

// What is padded to a multiple is that multiple of a floor division.
TEST(DimExpr, RemaindersJoinWhatTheyAreOf) {
  const DimExpr h = DimExpr::Symbol(0), fourth = DimExpr::FloorDiv(h + 3, 4);
  EXPECT_EQ(h + DimExpr::Mod(DimExpr(-1) * h, 7), DimExpr::CeilDiv(h, 7) * 7);
  EXPECT_EQ(h - DimExpr::Mod(h, 7), DimExpr::FloorDiv(h, 7) * 7);
  EXPECT_EQ(fourth + DimExpr::Mod(fourth, 2), DimExpr::CeilDiv(h, 8) * 2);
  EXPECT_EQ(DimExpr::FloorDiv(DimExpr(-1) * h, 7), DimExpr(-1) * DimExpr::CeilDiv(h, 7));
}

// Equality is pointer equality: expressions that threads make and release at once must still be one object.
TEST(DimExpr, ThreadsMakeTheSameExpressions) {
  const auto make = [](int i) {
    const DimExpr s = DimExpr::Symbol(100 + i % 3);
    return DimExpr::FloorDiv(s * 3 + i % 5, 7) * s + DimExpr::Min(s, 40 + i % 5);
  };
  std::atomic<int> unequal = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) unequal += make(i) != make(i + 15);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(unequal, 0);
}

TEST(DimExpr, OverflowAndBadDivisorsPoison) {
  const DimExpr huge = DimExpr(INT64_MAX);
  for (const DimExpr& bad : {huge + 1, huge * 2 * A, DimExpr::FloorDiv(A, 0), DimExpr::Mod(A, -1), DimExpr::Bcast(2, 3),
                             DimExpr::CeilDiv(huge, 2)}) {
    EXPECT_FALSE(bad.valid());
    EXPECT_FALSE((bad * 0 + A).valid());
    EXPECT_FALSE(DimExpr::Min(A, bad).valid());
    EXPECT_EQ(bad.constant(), std::nullopt);
    EXPECT_EQ(bad.Evaluate({1, 1, 1}), std::nullopt);
  }
  EXPECT_TRUE((huge * A).valid());
  EXPECT_EQ((huge * A).Evaluate({2, 0, 0}), std::nullopt);
  EXPECT_EQ(DimExpr::FloorDiv(A, B).Evaluate({5, 0, 0}), std::nullopt);
}

TEST(DimExpr, InvalidExpressionsKeepTheirFirstProblem) {
  const DimExpr huge = DimExpr(INT64_MAX);
  DimExpr sum;
  for (SymbolId id = 0; id < 600; ++id) sum = sum + DimExpr::Symbol(id);
  const std::pair<DimExpr, std::string> kCases[] = {
      {huge + 1, "a coefficient leaves 64 bits"},
      {huge * 2, "a coefficient leaves 64 bits"},
      {DimExpr::FloorDiv(A, 0), "a constant divisor is below 1"},
      {DimExpr::Mod(A, -1), "a constant divisor is below 1"},
      {DimExpr::Bcast(2, 3), "two of its constants do not broadcast"},
      {sum, "the expression has more than 1024 terms, factors and operations"},
  };
  for (const auto& [bad, problem] : kCases) {
    for (const DimExpr& e : {bad, bad + A, A - bad, bad * B, DimExpr::FloorDiv(A, bad), DimExpr::Mod(bad, 2),
                             DimExpr::Min(A, bad), bad + DimExpr::FloorDiv(A, 0)}) {
      ASSERT_FALSE(e.valid());
      EXPECT_EQ(e.problem(), problem);
    }
  }
}

TEST(DimExpr, RunawayGrowthPoisonsInsteadOfBlowingUp) {
  DimExpr e = A;
  for (int i = 0; i < 100000 && e.valid(); ++i) e = DimExpr::Min(e * B, DimExpr::Max(e, S) + 1);
  EXPECT_FALSE(e.valid());
  DimExpr power = A;
  for (int i = 0; i < 40; ++i) power = power * power;
  EXPECT_FALSE(power.valid());
}

TEST(DimExpr, SubstituteFoldsAgain) {
  DimExpr e = DimExpr::FloorDiv(A * B, 4) + DimExpr::Bcast(A, S);
  EXPECT_EQ(e.Substitute([](SymbolId id) { return id == 0 ? DimExpr(8) : DimExpr::Symbol(id); }), 2 * B + 8);
  EXPECT_EQ(e.Substitute(DimExpr::Symbol), e);
  EXPECT_EQ(e.Symbols(), (std::vector<SymbolId>{0, 1, 2}));
  EXPECT_EQ(S.symbol(), 2);
  EXPECT_EQ((2 * S).symbol(), std::nullopt);
}

TEST(DimExpr, ElementCountMultiplies) {
  EXPECT_EQ(ElementCount({A, 4, B}), 4 * A * B);
  EXPECT_EQ(ElementCount({}), 1);
}

TEST(DimExpr, CanonicalFormKeepsValues) {
  int compared = 0;
  for (uint32_t seed = 0; seed < 60000; ++seed) {
    RandomDim random(seed);
    const int64_t symbols[] = {random.Pick(9), random.Pick(9), random.Pick(9)};
    auto [e, value] = random.Make(4, symbols);
    if (!value) continue;
    ++compared;
    ASSERT_EQ(e.Evaluate(symbols), value)
        << "seed " << seed << ": " << Text(e) << " at " << symbols[0] << ", " << symbols[1] << ", " << symbols[2];
    ASSERT_EQ(e.Substitute(DimExpr::Symbol), e) << "seed " << seed << ": " << Text(e);
    DimExpr constant = e.Substitute([&](SymbolId id) { return DimExpr(symbols[id]); });
    ASSERT_TRUE(!constant.valid() || constant.constant() == value) << "seed " << seed << ": " << Text(e);
  }
  EXPECT_GT(compared, 10000);
}

// Padding to whole windows, as PyTorch writes it: x + (5 - x % 5) % 5.
TEST(DimExpr, RemaindersOfRemaindersAreRemainders) {
  const DimExpr x = DimExpr::Symbol(0), y = DimExpr::Symbol(1);
  EXPECT_EQ(x + DimExpr::Mod(5 - DimExpr::Mod(x, 5), 5), 5 * DimExpr::FloorDiv(x + 4, 5));
  EXPECT_EQ(DimExpr::Mod(3 * DimExpr::Mod(x, 10) + y, 5), DimExpr::Mod(3 * x + y, 5));
  EXPECT_EQ(DimExpr::Mod(5 * DimExpr::Mod(x, 2) + y, 10), DimExpr::Mod(5 * x + y, 10));
  EXPECT_NE(DimExpr::Mod(DimExpr::Mod(x, 7) + y, 5), DimExpr::Mod(x + y, 5));
}

// Linear in the leaves: comparing what is left of every choice of leaves would take 2^24 quotients.
// What C++ computes, for a numerator of either sign.
TEST(DimExpr, TruncatingDivisionComparisonsAndSelections) {
  const DimExpr s = DimExpr::Symbol(0), t = DimExpr::Symbol(1);
  const DimExpr a = s - 3, b = t + 1, less = DimExpr::Less(a, b);
  for (int64_t x = 0; x < 12; ++x) {
    for (int64_t y = 0; y < 6; ++y) {
      const std::vector<int64_t> at = {x, y};
      const int64_t n = x - 3, d = y + 1;
      EXPECT_EQ(DimExpr::TruncDiv(a, b).Evaluate(at), n / d) << n << " " << d;
      EXPECT_EQ(DimExpr::TruncMod(a, b).Evaluate(at), n % d) << n << " " << d;
      EXPECT_EQ(DimExpr::TruncDiv(a, 2).Evaluate(at), n / 2) << n;
      EXPECT_EQ(DimExpr::CeilDiv(s, b).Evaluate(at), (x + d - 1) / d) << x << " " << d;
      EXPECT_EQ(less.Evaluate(at), n < d) << n << " " << d;
      EXPECT_EQ(DimExpr::Equal(a, b).Evaluate(at), n == d) << n << " " << d;
      EXPECT_EQ(DimExpr::Select(less, s, 7 * t).Evaluate(at), n < d ? x : 7 * y) << n << " " << d;
    }
  }
  EXPECT_EQ(DimExpr::TruncDiv(s, 2), DimExpr::FloorDiv(s, 2));
  EXPECT_EQ(DimExpr::Equal(s, s), DimExpr(1));
  EXPECT_EQ(DimExpr::Select(1, s, t), s);
  EXPECT_EQ(DimExpr::Less(s + 1, s), DimExpr(0));
}

TEST(DimExpr, QuotientsOfManyMaximaTakeLinearTime) {
  DimExpr sum;
  for (SymbolId id = 0; id < 24; ++id) sum = sum + DimExpr::Max(DimExpr::Symbol(id), DimExpr::Symbol(id + 24));
  const DimExpr quotient = DimExpr::FloorDiv(sum, 64);
  EXPECT_TRUE(quotient.valid());
  std::vector<int64_t> symbols(48);
  for (size_t i = 0; i < symbols.size(); ++i) symbols[i] = static_cast<int64_t>(i * i);
  EXPECT_EQ(*quotient.Evaluate(symbols), *sum.Evaluate(symbols) / 64);
}

TEST(DimExpr, QuotientsOfLongSumsAreRightOrInvalid) {
  for (SymbolId count : {400, 511, 512, 600}) {
    DimExpr sum;
    for (SymbolId id = 0; id < count; ++id) sum = sum - DimExpr::Symbol(id);
    const DimExpr quotient = DimExpr::FloorDiv(sum, 3), rest = DimExpr::Mod(sum, 3);
    const std::vector<int64_t> ones(count, 1);
    if (quotient.valid()) {
      EXPECT_EQ(quotient.Evaluate(ones), -(count + 2) / 3) << count;
    }
    if (rest.valid()) {
      EXPECT_EQ(rest.Evaluate(ones), (3 - count % 3) % 3) << count;
    }
  }
}

TEST(DimExpr, QuotientsKeepTheLeavesThatDecide) {
  const DimExpr h = DimExpr::Symbol(0), w = DimExpr::Symbol(1);
  const DimExpr pool = DimExpr::Min(DimExpr::FloorDiv(h, 2) - 1, DimExpr::FloorDiv(h + 1, 2) - 1);
  EXPECT_EQ(DimExpr::FloorDiv(pool, 2), DimExpr::FloorDiv(h - 2, 4));
  // floordiv(h + 3, 4) is never less than floordiv(h, 4); w stays.
  const DimExpr three = DimExpr::FloorDiv(DimExpr::Max(DimExpr::Max(h, w), h + 3), 4);
  EXPECT_EQ(three, DimExpr::FloorDiv(DimExpr::Max(w, h + 3), 4));
}

}  // namespace
}  // namespace tailor
