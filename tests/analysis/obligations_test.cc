#include "analysis/obligations.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "graph/text.h"

namespace tailor {
namespace {

// "lhs <relation> rhs | message" a line, for one op over inputs x and y.
std::string Demands(const std::string& arguments, const std::string& line) {
  absl::StatusOr<Graph> graph = ParseGraph("graph @g(" + arguments + " {\n  %r = " + line + "\n  return %r\n}\n");
  if (!graph.ok()) return std::string(graph.status().message());
  constexpr const char* kRelations[] = {"==", ">=", "<=", "multiple of", "broadcasts with"};
  std::string text;
  for (const Obligation& o : CollectObligations(*graph)) {
    absl::StrAppend(&text, graph->DimText(o.lhs), " ", kRelations[static_cast<int>(o.relation)], " ",
                    graph->DimText(o.rhs), " | ", CheckMessage(o, *graph), "\n");
  }
  return text;
}

TEST(Obligations, ElementwiseAlignsToTheEnd) {
  EXPECT_EQ(
      Demands("%x: f32[S], %y: f32[T, U])", "add %x, %y"),
      R"(S broadcasts with U | add %2 ("r"): dim 0 of lhs (S) is {lhs}, but dim 1 of rhs (U) is {rhs}, which do not broadcast
)");
}

TEST(Obligations, SelectTakesThree) {
  EXPECT_EQ(
      Demands("%c: bool[S], %x: f32[T], %y: f32[U])", "select %c, %x, %y"),
      R"(S broadcasts with T | select %3 ("r"): dim 0 of condition (S) is {lhs}, but dim 0 of on_true (T) is {rhs}, which do not broadcast
U broadcasts with bcast(S, T) | select %3 ("r"): dim 0 of on_false (U) is {lhs}, but of the operands before it (bcast(S, T)) is {rhs}, which do not broadcast
)");
}

TEST(Obligations, DotContractsAndBroadcastsBatches) {
  EXPECT_EQ(Demands("%x: f32[A, M, K], %y: f32[B, N, L])", "dot %x, %y {transpose_rhs = 1}"),
            R"(K == L | dot %2 ("r"): contracted dim of lhs (K) is {lhs}, but of rhs (L) is {rhs}
A broadcasts with B | dot %2 ("r"): batch dim 0 of lhs (A) is {lhs}, but batch dim 0 of rhs (B) is {rhs}, which do not broadcast
)");
  EXPECT_EQ(Demands("%x: f32[K, M], %y: f32[384, N])", "dot %x, %y {transpose_lhs = 1}"),
            "K == 384 | dot %2 (\"r\"): contracted dim of lhs (K) is {lhs}, but of rhs is {rhs}\n");
}

TEST(Obligations, BroadcastToEqualsTheTargetOrIsOne) {
  EXPECT_EQ(Demands("%x: f32[S], %y: f32[T, U])", "broadcast %x {shape = [T, U]}"),
            R"(T >= 0 | broadcast %2 ("r"): target dim 0 (T) is {lhs}, but must be at least {rhs}
U >= 0 | broadcast %2 ("r"): target dim 1 (U) is {lhs}, but must be at least {rhs}
S broadcasts with U | broadcast %2 ("r"): dim 0 of x (S) is {lhs}, but the target (U) is {rhs}, which do not broadcast
bcast(S, U) == U | broadcast %2 ("r"): dim 0 of x (bcast(S, U)) is {lhs}, but the target (U) is {rhs}
)");
}

TEST(Obligations, ReshapeKeepsTheElementCount) {
  EXPECT_EQ(Demands("%x: f32[S, 6], %y: f32[T])", "reshape %x {shape = [T, 3]}"),
            R"(T >= 0 | reshape %2 ("r"): target dim 0 (T) is {lhs}, but must be at least {rhs}
3 >= 0 | reshape %2 ("r"): target dim 1 is {lhs}, but must be at least {rhs}
6*S == 3*T | reshape %2 ("r"): element count (6*S) is {lhs}, but of the target shape (3*T) is {rhs}
)");
}

TEST(Obligations, SliceStaysWithinTheDim) {
  EXPECT_EQ(Demands("%x: f32[S], %y: f32[T])", "slice %x {starts = [2], sizes = [T], steps = [3]}"),
            R"(T >= 0 | slice %2 ("r"): size of dim 0 (T) is {lhs}, but must be at least {rhs}
2 >= 0 | slice %2 ("r"): lowest index in dim 0 is {lhs}, but must be at least {rhs}
3*T <= S | slice %2 ("r"): end in dim 0 (3*T) is {lhs}, but the dim size of x (S) is {rhs}
)");
}

TEST(Obligations, SliceBackwardsTurnsTheBounds) {
  EXPECT_EQ(Demands("%x: f32[S])", "slice %x {starts = [S - 1], sizes = [S], steps = [-1]}"),
            R"(S >= 0 | slice %1 ("r"): size of dim 0 (S) is {lhs}, but must be at least {rhs}
0 >= 0 | slice %1 ("r"): lowest index in dim 0 is {lhs}, but must be at least {rhs}
S + min(S, 1) - 1 <= S | slice %1 ("r"): end in dim 0 (S + min(S, 1) - 1) is {lhs}, but the dim size of x (S) is {rhs}
)");
}

TEST(Obligations, ConcatAgreesOffTheAxis) {
  EXPECT_EQ(Demands("%x: f32[S, 3], %y: f32[T, U])", "concat %x, %y, %x {axis = -2}"),
            R"(U == 3 | concat %2 ("r"): dim 1 of xs[1] (U) is {lhs}, but of xs[0] is {rhs}
3 == 3 | concat %2 ("r"): dim 1 of xs[2] is {lhs}, but of xs[0] is {rhs}
)");
}

TEST(Obligations, IotaHasDimSizes) {
  EXPECT_EQ(Demands("%x: f32[S])", "iota {shape = [S - 4], axis = 0, dtype = i64}"),
            "S - 4 >= 0 | iota %1 (\"r\"): size of dim 0 (S - 4) is {lhs}, but must be at least {rhs}\n");
}

TEST(Obligations, PadsAndWindowsHaveDimSizes) {
  EXPECT_EQ(Demands("%x: f32[S], %y: f32[])", "pad %x, %y {low = [-1], high = [-2]}"),
            "S - 3 >= 0 | pad %2 (\"r\"): size of dim 0 (S - 3) is {lhs}, but must be at least {rhs}\n");
  EXPECT_EQ(Demands("%x: f32[S], %y: f32[T])", "window %x {axes = [0], sizes = [T - 1]}"),
            "T - 1 >= 0 | window %2 (\"r\"): window size of dim 0 (T - 1) is {lhs}, but must be at least {rhs}\n");
}

TEST(Obligations, ScatterHasEntriesForItsUpdates) {
  EXPECT_EQ(Demands("%x: f32[S, T], %i: i64[U, 1], %u: f32[U, V])", "scatter %x, %i, %u {combiner = \"set\"}"),
            R"(S >= min(U, 1) | scatter %3 ("r"): dim 0 of x (S) is {lhs}, but must be at least {rhs}
U == U | scatter %3 ("r"): dim 0 of updates (U) is {lhs}, but dim 0 of indices (U) is {rhs}
V == T | scatter %3 ("r"): dim 1 of updates (V) is {lhs}, but dim 1 of x (T) is {rhs}
)");
}

TEST(Obligations, GatherReduceAndTransposeDemandNothing) {
  EXPECT_EQ(Demands("%x: f32[S, T], %y: i64[U])", "gather %x, %y"), "");
  EXPECT_EQ(Demands("%x: f32[S, T])", "reduce_sum %x {axes = [1]}"), "");
  EXPECT_EQ(Demands("%x: f32[S, T])", "transpose %x {permutation = [1, 0]}"), "");
}

TEST(Obligations, DivisorsAreAtLeastOne) {
  absl::StatusOr<Graph> graph = ParseGraph(R"(graph @g(%x: f32[N], %y: f32[S, T]) {
  %r = reshape %x {shape = [floordiv(N, mod(S, T)), mod(S, T) + floordiv(N, 2)]}
  return %r
}
)");
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::string text;
  for (const Obligation& o : CollectDivisors(*graph)) absl::StrAppend(&text, CheckMessage(o, *graph), "\n");
  EXPECT_EQ(text,
            R"(reshape %2 ("r"): divisor of mod(S, T) (T) is {lhs}, but must be at least {rhs}
reshape %2 ("r"): divisor of floordiv(N, mod(S, T)) (mod(S, T)) is {lhs}, but must be at least {rhs}
)");
}

TEST(Obligations, AssumedBoundsNameWhatDemandsThem) {
  EXPECT_EQ(Demands("%x: f32[S, T]) where S >= T, S + 2 >= 3 @\"stem, dim 2\"", "neg %x"),
            R"(S >= T | assumed bound: S is {lhs}, but must be at least {rhs}
S + 2 >= 3 | stem, dim 2: S + 2 is {lhs}, but must be at least {rhs}
)");
}

TEST(Obligations, AssumedEqualitiesComeFirst) {
  EXPECT_EQ(Demands("%x: f32[S, T], %y: f32[T]) where S == 2*T", "add %x, %y"),
            R"(S == 2*T | assumed equality: S is {lhs}, but 2*T is {rhs}
T broadcasts with T | add %2 ("r"): dim 1 of lhs (T) is {lhs}, but dim 0 of rhs (T) is {rhs}, which do not broadcast
)");
}

}  // namespace
}  // namespace tailor
