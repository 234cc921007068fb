#include "graph/compaction.h"

#include <cmath>

#include "tests/graph/evaluated_builder.h"

namespace tailor {
namespace {

constexpr Value kX{0, 0}, kMask{1, 0};
using Built = absl::StatusOr<std::vector<Value>>;

Built One(const absl::StatusOr<Value>& value) {
  if (!value.ok()) return value.status();
  return std::vector<Value>{*value};
}

Built All(const absl::StatusOr<Distinct>& distinct) {
  if (!distinct.ok()) return distinct.status();
  return std::vector<Value>{distinct->values, distinct->indices, distinct->inverse, distinct->counts};
}

std::string Texts(const std::vector<reference::Array>& arrays) {
  return absl::StrJoin(arrays, " | ",
                       [](std::string* out, const reference::Array& array) { out->append(Text(array)); });
}

TEST(Compaction, KeepsRowsInOrder) {
  const Graph graph = BuiltGraph("%x: f32[N, 2], %m: bool[N]", [](Graph& g) { return One(Compact(g, kX, kMask)); });
  const auto kept = [&](int64_t n, const std::vector<long double>& mask) {
    std::vector<long double> values;
    for (int64_t i = 0; i < 2 * n; ++i) values.push_back(i + 1);
    return Texts(Evaluated(graph, {n}, {Numbers(DType::kF32, {n, 2}, values), Numbers(DType::kBool, {n}, mask)}));
  };
  EXPECT_EQ(kept(4, {0, 1, 0, 1}), "[2, 2] {3, 4, 7, 8}");
  EXPECT_EQ(kept(3, {1, 1, 1}), "[3, 2] {1, 2, 3, 4, 5, 6}");
  EXPECT_EQ(kept(3, {0, 0, 0}), "[0, 2] {}");
  EXPECT_EQ(kept(0, {}), "[0, 2] {}");
}

TEST(Compaction, SymbolsAreFreshAndBounded) {
  const Graph graph = BuiltGraph("%x: i8[9], %m: bool[9], %compact0: f32[compact0]", [](Graph& g) -> Built {
    absl::StatusOr<Value> once = Compact(g, kX, kMask);
    if (!once.ok()) return once.status();
    return One(Compact(g, kX, kMask));
  });
  ASSERT_EQ(graph.symbols().size(), 3u);
  EXPECT_EQ(graph.symbol(1).name, "compact1");
  EXPECT_EQ(graph.symbol(2).name, "compact2");
  EXPECT_EQ(graph.symbol(2).max, 9);
}

TEST(Compaction, NonZero) {
  const Graph matrix = BuiltGraph("%x: f32[N, M]", [](Graph& g) { return One(NonZero(g, kX)); });
  EXPECT_EQ(Texts(Evaluated(matrix, {2, 3}, {Numbers(DType::kF32, {2, 3}, {0, NAN, 2, -1, -0.0L, 0})})),
            "[2, 3] {0, 0, 1, 1, 2, 0}");
  EXPECT_EQ(Texts(Evaluated(matrix, {0, 3}, {Numbers(DType::kF32, {0, 3}, {})})), "[2, 0] {}");
  const Graph cube = BuiltGraph("%x: bool[2, 2, N]", [](Graph& g) { return One(NonZero(g, kX)); });
  EXPECT_EQ(Texts(Evaluated(cube, {2}, {Numbers(DType::kBool, {2, 2, 2}, {0, 0, 0, 1, 0, 0, 1, 0})})),
            "[3, 2] {0, 1, 1, 1, 1, 0}");
  const Graph scalar = BuiltGraph("%x: i32[]", [](Graph& g) { return One(NonZero(g, kX)); });
  EXPECT_EQ(Texts(Evaluated(scalar, {}, {Numbers(DType::kI32, {}, {4})})), "[0, 1] {}");
}

TEST(Compaction, UniqueElements) {
  const auto unique = [](bool sorted, const std::vector<long double>& values) {
    const Graph graph = BuiltGraph("%x: f32[N]", [&](Graph& g) { return All(Unique(g, kX, std::nullopt, sorted)); });
    const int64_t n = static_cast<int64_t>(values.size());
    return Texts(Evaluated(graph, {n}, {Numbers(DType::kF32, {n}, values)}));
  };
  EXPECT_EQ(unique(true, {2, 1, 1, 3, 4, 3}),
            "[4] {1, 2, 3, 4} | [4] {1, 0, 3, 4} | [6] {1, 0, 0, 2, 3, 2} | [4] {2, 1, 2, 1}");
  EXPECT_EQ(unique(false, {2, 1, 1, 3, 4, 3}),
            "[4] {2, 1, 3, 4} | [4] {0, 1, 3, 4} | [6] {0, 1, 1, 2, 3, 2} | [4] {1, 2, 2, 1}");
  EXPECT_EQ(unique(true, {NAN, 1, NAN}), "[2] {1, nan} | [2] {1, 0} | [3] {1, 0, 1} | [2] {1, 2}");
  EXPECT_EQ(unique(true, {}), "[0] {} | [0] {} | [0] {} | [0] {}");
}

TEST(Compaction, UniqueSlices) {
  const auto unique = [](const char* header, int64_t axis, bool sorted, std::vector<int64_t> dims,
                         const std::vector<long double>& values) {
    const Graph graph = BuiltGraph(header, [&](Graph& g) { return All(Unique(g, kX, axis, sorted)); });
    return Texts(Evaluated(graph, dims, {Numbers(DType::kI32, dims, values)}));
  };
  EXPECT_EQ(unique("%x: i32[N, M]", 0, true, {4, 2}, {2, 0, 1, 5, 2, 0, 1, 4}),
            "[3, 2] {1, 4, 1, 5, 2, 0} | [3] {3, 1, 0} | [4] {2, 1, 2, 0} | [3] {1, 1, 2}");
  EXPECT_EQ(unique("%x: i32[N, M]", -1, false, {2, 3}, {7, 6, 7, 1, 1, 1}),
            "[2, 2] {7, 6, 1, 1} | [2] {0, 1} | [3] {0, 1, 0} | [2] {2, 1}");
  EXPECT_EQ(unique("%x: i32[A, N, B]", 1, true, {2, 3, 1}, {3, 1, 3, 4, 2, 4}),
            "[2, 2, 1] {1, 3, 2, 4} | [2] {1, 0} | [3] {1, 0, 1} | [2] {1, 2}");
}

TEST(Compaction, Errors) {
  Graph graph = *ParseGraph("graph @g(%x: f32[N, 4], %m: bool[4], %n: i32[N], %s: f32[], %k: bool[3]) { return }");
  EXPECT_EQ(Compact(graph, kX, {2, 0}).status().message(),
            "compact: operand \"mask\" (%n) has type i32[N], needs bool[N]");
  EXPECT_EQ(Compact(graph, {1, 0}, {4, 0}).status().message(),
            "compact: operand \"mask\" (%k) has type bool[3], needs bool[4]");
  EXPECT_EQ(Compact(graph, {3, 0}, kMask).status().message(),
            "compact: operand \"x\" (%s) has rank 0, needs at least 1");
  EXPECT_EQ(NonZero(graph, {9, 0}).status().message(),
            "nonzero: operand \"x\" is no value of this graph (node 9, result 0)");
  EXPECT_EQ(Unique(graph, kX, 2, true).status().message(),
            "unique: axis 2 is out of range for operand \"x\" (%x) of type f32[N, 4]");
  EXPECT_EQ(graph.nodes().size(), 5u);
}

}  // namespace
}  // namespace tailor
