#include "graph/sorting.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>

#include "tests/graph/evaluated_builder.h"

namespace tailor {
namespace {

constexpr Value kX{0, 0};
using Built = absl::StatusOr<std::vector<Value>>;

Built Both(const absl::StatusOr<Sorted>& sorted) {
  if (!sorted.ok()) return sorted.status();
  return std::vector<Value>{sorted->values, sorted->indices};
}

// "values | indices"
std::string Texts(const std::vector<reference::Array>& arrays) {
  return arrays.size() == 2 ? absl::StrCat(Text(arrays[0]), " | ", Text(arrays[1])) : "";
}

std::string SortedText(DType dtype, const std::vector<long double>& values, bool descending) {
  const Graph graph = BuiltGraph(absl::StrCat("%x: ", NameOf(dtype), "[N]"),
                                 [&](Graph& g) { return Both(Sort(g, kX, 0, descending)); });
  const int64_t count = static_cast<int64_t>(values.size());
  return Texts(Evaluated(graph, {count}, {Numbers(dtype, {count}, values)}));
}

TEST(Sorting, EveryLengthUpToTwoPasses) {
  const Graph graph = BuiltGraph("%x: i32[N]", [](Graph& g) { return Both(Sort(g, kX, 0, false)); });
  std::mt19937 random(1);
  for (int64_t n = 0; n <= 37; ++n) {
    std::vector<long double> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<int>(random() % 20) - 10);
    std::vector<long double> order(n);
    std::iota(order.begin(), order.end(), 0);
    const auto at = [&](long double i) { return values[static_cast<size_t>(i)]; };
    std::stable_sort(order.begin(), order.end(), [&](long double a, long double b) { return at(a) < at(b); });
    std::vector<long double> expected;
    for (long double i : order) expected.push_back(at(i));
    EXPECT_EQ(Texts(Evaluated(graph, {n}, {Numbers(DType::kI32, {n}, values)})),
              absl::StrCat(Text(Numbers(DType::kI32, {n}, expected)), " | ", Text(Numbers(DType::kI64, {n}, order))));
  }
}

TEST(Sorting, OrderIsTotalAndStable) {
  EXPECT_EQ(SortedText(DType::kF32, {NAN, 1, INFINITY, NAN, -INFINITY, 1}, false),
            "[6] {-inf, 1, 1, inf, nan, nan} | [6] {4, 1, 5, 2, 0, 3}");
  EXPECT_EQ(SortedText(DType::kF32, {NAN, 1, INFINITY, NAN, -INFINITY, 1}, true),
            "[6] {nan, nan, inf, 1, 1, -inf} | [6] {0, 3, 2, 1, 5, 4}");
  EXPECT_EQ(SortedText(DType::kF32, {0.0L, -0.0L, 0.0L}, false), "[3] {0, -0, 0} | [3] {0, 1, 2}");
  EXPECT_EQ(SortedText(DType::kBool, {1, 0, 1, 0}, true), "[4] {1, 1, 0, 0} | [4] {0, 2, 1, 3}");
  EXPECT_EQ(SortedText(DType::kI64, {0x1p63L - 1, -0x1p63L, 3}, false),
            "[3] {-9.22337e+18, 3, 9.22337e+18} | [3] {1, 2, 0}");
  EXPECT_EQ(SortedText(DType::kU8, {255, 0, 128}, false), "[3] {0, 128, 255} | [3] {1, 2, 0}");
}

TEST(Sorting, AlongAnyAxis) {
  for (int64_t axis : {0, -2}) {
    const Graph graph = BuiltGraph("%x: f32[N, M]", [&](Graph& g) { return Both(Sort(g, kX, axis, false)); });
    EXPECT_EQ(Texts(Evaluated(graph, {3, 2}, {Numbers(DType::kF32, {3, 2}, {5, 1, 4, 3, 3, 2})})),
              "[3, 2] {3, 1, 4, 2, 5, 3} | [3, 2] {2, 0, 1, 2, 0, 1}");
  }
}

TEST(Sorting, TopK) {
  const auto top = [](bool largest, const char* header, int64_t k) {
    const Graph graph = BuiltGraph(header, [&](Graph& g) { return Both(TopK(g, kX, k, 1, largest)); });
    return Texts(Evaluated(graph, {2}, {Numbers(DType::kF32, {2, 4}, {1, 3, 3, 2, 8, 7, 6, 9})}));
  };
  EXPECT_EQ(top(true, "%x: f32[N, 4]", 2), "[2, 2] {3, 3, 9, 8} | [2, 2] {1, 2, 3, 0}");
  EXPECT_EQ(top(false, "%x: f32[N, 4]", 2), "[2, 2] {1, 2, 6, 7} | [2, 2] {0, 3, 2, 1}");
  EXPECT_EQ(top(true, "%x: f32[N, 4]", 0), "[2, 0] {} | [2, 0] {}");
}

// A few elements are selected one by one, more by their threshold: both against the standard library.
TEST(Sorting, TopKOfFewAndOfMany) {
  std::mt19937 random(2);
  const auto check = [&](DType dtype, std::vector<long double> values, int64_t k, bool largest) {
    const int64_t n = static_cast<int64_t>(values.size());
    std::vector<long double> order(n), expected;
    std::iota(order.begin(), order.end(), 0);
    const auto rank = [&](long double i) {
      const long double value = values[static_cast<size_t>(i)];
      const std::pair<bool, long double> up = {std::isnan(value), std::isnan(value) ? 0 : value};
      return largest ? std::pair(!up.first, -up.second) : up;
    };
    std::stable_sort(order.begin(), order.end(), [&](long double a, long double b) { return rank(a) < rank(b); });
    order.resize(k);
    for (long double i : order) expected.push_back(values[static_cast<size_t>(i)]);
    const Graph graph = BuiltGraph(absl::StrCat("%x: ", NameOf(dtype), "[N]"),
                                   [&](Graph& g) { return Both(TopK(g, kX, k, 0, largest)); });
    EXPECT_EQ(Texts(Evaluated(graph, {n}, {Numbers(dtype, {n}, values)})),
              absl::StrCat(Text(Numbers(dtype, {k}, expected)), " | ", Text(Numbers(DType::kI64, {k}, order))));
  };
  const long double numbers[] = {NAN, INFINITY, -INFINITY, 1, 2, 3, -1, -2};
  // Rows of less than a block of 16, of whole blocks, of more blocks than elements are wanted, and of fewer.
  const std::pair<int64_t, int64_t> cases[] = {{15, 5},   {16, 16},  {33, 2},    {130, 1}, {130, 5},
                                               {130, 64}, {130, 65}, {130, 129}, {700, 16}};
  for (const auto& [n, k] : cases) {
    for (bool largest : {false, true}) {
      std::vector<long double> floats, integers, bools;
      for (int i = 0; i < n; ++i) {
        floats.push_back(numbers[random() % 8]);
        integers.push_back(static_cast<int>(random() % 9) - 128);
        bools.push_back(random() % 2);
      }
      for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) check(dtype, floats, k, largest);
      for (DType dtype : {DType::kI8, DType::kI32, DType::kI64}) check(dtype, integers, k, largest);
      for (long double& integer : integers) integer += 200;
      for (DType dtype : {DType::kU8, DType::kU16, DType::kU64}) check(dtype, integers, k, largest);
      check(DType::kBool, bools, k, largest);
    }
  }
  check(DType::kF16, {NAN, NAN, INFINITY}, 3, false);
  check(DType::kF16, {-INFINITY, NAN, -INFINITY}, 3, true);
}

// -0 equals 0: the first one is taken. NaNs of either sign are equal.
TEST(Sorting, TopKTakesTheFirstOfEqualElements) {
  for (bool largest : {false, true}) {
    const double sign = largest ? 1 : -1;
    std::vector<long double> values(40, -sign);
    for (size_t i = 3; i < 40; i += 2) values[i] = i % 4 == 1 ? 0.0L : -0.0L;
    values[20] = sign;
    const Graph graph = BuiltGraph("%x: f32[N], %k: f32[K]",
                                   [&](Graph& g) { return Both(TopK(g, kX, DimExpr::Symbol(1), 0, largest)); });
    const auto texts = Texts(
        Evaluated(graph, {40, 5}, {Numbers(DType::kF32, {40}, values), Numbers(DType::kF32, {5}, {0, 0, 0, 0, 0})}));
    EXPECT_THAT(texts, testing::EndsWith(" | [5] {20, 3, 5, 7, 9}"));
  }
}

TEST(Sorting, TopKOfRowsWithASymbolicCount) {
  const Graph graph = BuiltGraph("%x: i32[A, N, B], %k: f32[K]",
                                 [&](Graph& g) { return Both(TopK(g, kX, DimExpr::Symbol(3), 1, true)); });
  std::mt19937 random(3);
  for (const auto& [a, n, b, k] :
       {std::array<int64_t, 4>{2, 30, 3, 4}, {1, 1, 1, 1}, {2, 5, 1, 0}, {3, 7, 2, 7}, {0, 4, 2, 2}, {2, 0, 2, 0}}) {
    std::vector<long double> values, best, places;
    for (int64_t i = 0; i < a * n * b; ++i) values.push_back(static_cast<int>(random() % 9) - 4);
    best.resize(a * k * b);
    places.resize(a * k * b);
    for (int64_t row = 0; row < a * b; ++row) {
      const int64_t first = row / b * n * b + row % b;
      std::vector<int64_t> order(n);
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t i, int64_t j) { return values[first + i * b] > values[first + j * b]; });
      for (int64_t i = 0; i < k; ++i) {
        const int64_t to = row / b * k * b + i * b + row % b;
        best[to] = values[first + order[i] * b];
        places[to] = static_cast<long double>(order[i]);
      }
    }
    EXPECT_EQ(Texts(Evaluated(graph, {a, n, b, k},
                              {Numbers(DType::kI32, {a, n, b}, values),
                               Numbers(DType::kF32, {k}, std::vector<long double>(k, 0))})),
              absl::StrCat(Text(Numbers(DType::kI32, {a, k, b}, best)), " | ",
                           Text(Numbers(DType::kI64, {a, k, b}, places))));
  }
}

TEST(Sorting, Rows) {
  const Graph graph = BuiltGraph("%x: i32[N, M]", [](Graph& g) -> Built {
    absl::StatusOr<Value> order = ArgsortRows(g, kX);
    if (!order.ok()) return order.status();
    return std::vector<Value>{*order};
  });
  const auto order = [&](std::vector<int64_t> dims, const std::vector<long double>& values) {
    return Text(Evaluated(graph, dims, {Numbers(DType::kI32, dims, values)})[0]);
  };
  EXPECT_EQ(order({5, 2}, {2, 1, 1, 9, 2, 0, 1, 9, 1, 3}), "[5] {4, 1, 3, 2, 0}");
  EXPECT_EQ(order({3, 0}, {}), "[3] {0, 1, 2}");
  EXPECT_EQ(order({0, 2}, {}), "[0] {}");
}

// The loop's arguments, in text. Indices have 32 bits where the dim size is known to, and then elements of up to 32
// bits are packed with them.
TEST(Sorting, IsOneLoop) {
  const auto text = [](const char* header) {
    return BuiltGraph(header, [](Graph& g) { return Both(Sort(g, kX, -1, false)); }).ToText();
  };
  EXPECT_THAT(text("%x: f32[N, 2*N]"),
              testing::HasSubstr("region(%p: i64[], %q: i64[], %r: i64[], %d: i64[], %top: i64[], %count: i64[], "
                                 "%keys: f32[N, 2*N], %indices: i64[N, 2*N])"));
  EXPECT_THAT(text("%x: f64[N, N]"), testing::HasSubstr("%count: i32[], %keys: f64[N, N], %indices: i32[N, N])"));
  EXPECT_THAT(text("%x: f32[2*N, N]"),
              testing::HasSubstr("region(%p: i32[], %q: i32[], %r: i32[], %d: i32[], %top: i32[], %count: i32[], "
                                 "%keys: i64[2*N, N])"));
}

TEST(Sorting, IndicesOf64Bits) {
  const Graph graph = BuiltGraph("%x: i8[N]", [](Graph& g) -> Built {
    absl::StatusOr<NodeId> twice = g.Append(OpKind::kConcat, {kX, kX}, {{"axis", int64_t{0}}});
    return Both(Sort(g, {*twice, 0}, 0, true));
  });
  EXPECT_EQ(Texts(Evaluated(graph, {3}, {Numbers(DType::kI8, {3}, {5, 7, -1})})),
            "[6] {7, 7, 5, 5, -1, -1} | [6] {1, 4, 0, 3, 2, 5}");
}

TEST(Sorting, Errors) {
  Graph graph = *ParseGraph("graph @g(%x: f32[N, 4]) { return }");
  EXPECT_EQ(Sort(graph, kX, 2, false).status().message(),
            "sort: axis 2 is out of range for operand \"x\" (%x) of type f32[N, 4]");
  EXPECT_EQ(Sort(graph, {7, 0}, 0, false).status().message(),
            "sort: operand \"x\" is no value of this graph (node 7, result 0)");
  EXPECT_EQ(TopK(graph, kX, 5, 1, true).status().message(),
            "top_k: k is 5, but axis 1 of operand \"x\" (%x) has size 4");
  EXPECT_EQ(TopK(graph, kX, 5, -3, true).status().message(),
            "top_k: axis -3 is out of range for operand \"x\" (%x) of type f32[N, 4]");
  EXPECT_EQ(graph.nodes().size(), 1u);
  EXPECT_EQ(TopK(graph, kX, -1, 1, true).status().message(), "slice: dim size 0 of the result is -1, needs at least 0");
}

}  // namespace
}  // namespace tailor
