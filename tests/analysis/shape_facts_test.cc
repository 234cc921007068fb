#include "analysis/shape_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/analysis/parsed_facts.h"

namespace tailor {
namespace {

using ::testing::HasSubstr;

TEST(ShapeFacts, EncoderNeedsNoCheckBeyondItsSignature) {
  EXPECT_EQ(FactsText(R"(
graph @encoder(%ids: i64[B, S], %mask: f32[B, S]) where B in [1, 64] likely [1, 8], S in [0, 512] multiple_of 8, M, M == B*S {
  %table = constant @table : f32[30522, 384]
  %positions = constant @positions : f32[512, 384]
  %w = constant @w : f32[384, 384]
  %words = gather %table, %ids
  %place = slice %positions {starts = [0, 0], sizes = [S, 384]}
  %x = add %words, %place
  %mean = reduce_mean %x {axes = [2], keep_dims = 1}
  %centred = sub %x, %mean
  %rows = reshape %centred {shape = [M, 384]}
  %q = dot %rows, %w {transpose_rhs = 1}
  %heads = reshape %q {shape = [B, S, 12, 32]}
  %t = transpose %heads {permutation = [0, 2, 1, 3]}
  %scores = dot %t, %t {transpose_rhs = 1}
  %m = reshape %mask {shape = [B, 1, 1, S]}
  %masked = add %scores, %m
  %v = dot %masked, %t
  return "y" = %v
}
)"),
            R"(symbols
  B in [1, 64] likely [1, 8] from "ids" dim 0
  S in [0, 512] multiple_of 8 from "ids" dim 1
  M == B*S
facts
  B in [1, 64]: declared
  S in [0, 512]: declared
  S is a multiple of 8: declared
  M == B*S: assumed equality: by the caller
checks
  0: "mask" dim 0 == B | input "mask" dim 0 is {lhs}, but B is {rhs} from input "ids" dim 0
  1: "mask" dim 1 == S | input "mask" dim 1 is {lhs}, but S is {rhs} from input "ids" dim 1
  2: B >= 1 | B is {lhs} from input "ids" dim 0, but must be at least {rhs}
  3: B <= 64 | B is {lhs} from input "ids" dim 0, but must be at most {rhs}
  4: S <= 512 | S is {lhs} from input "ids" dim 1, but must be at most {rhs}
  5: S multiple of 8 | S is {lhs} from input "ids" dim 1, but must be a multiple of {rhs}
)");
}

TEST(ShapeFacts, ProductEqualityCollapsesDims) {
  ParsedFacts f(R"(
graph @g(%x: f32[B, S], %y: f32[T, U]) {
  %a = reshape %x {shape = [T, U]}
  %r = add %a, %y
  return %r
}
)");
  EXPECT_EQ(f.facts.ToText(), R"(symbols
  B in [0, 2147483647] from "x" dim 0
  S in [0, 2147483647] from "x" dim 1
  T in [0, 2147483647] from "y" dim 0
  U in [0, 2147483647] from "y" dim 1
facts
  B*S == T*U: reshape %2 ("a"): element counts
checks
  0: B <= 2147483647 | B is {lhs} from input "x" dim 0, but must be at most {rhs}
  1: S <= 2147483647 | S is {lhs} from input "x" dim 1, but must be at most {rhs}
  2: T <= 2147483647 | T is {lhs} from input "y" dim 0, but must be at most {rhs}
  3: U <= 2147483647 | U is {lhs} from input "y" dim 1, but must be at most {rhs}
  4: B*S == T*U | reshape %2 ("a"): element count (B*S) is {lhs}, but of the target shape (T*U) is {rhs}
)");
  EXPECT_TRUE(f.facts.ProvablyEqualProduct(f.Dims({"B", "384", "S"}), f.Dims({"U", "12", "T", "32"})));
  EXPECT_FALSE(f.facts.ProvablyEqualProduct(f.Dims({"B", "S"}), f.Dims({"T", "S"})));
  EXPECT_FALSE(f.Equal("B", "T"));
}

TEST(ShapeFacts, WindowCountsHaveRanges) {
  ParsedFacts f(R"(
graph @g(%x: f32[N, H, W]) where N, H in [4, 64], W {
  %y = window %x {axes = [1, 2], sizes = [3, 3], strides = [2, 1]}
  return %y
}
)");
  const Shape& shape = f.graph.type(f.graph.outputs()[0].value).shape;
  EXPECT_EQ(f.graph.DimText(f.facts.Canonical(shape[1])), "floordiv(H + 1, 2) - 1");
  EXPECT_EQ(f.facts.RangeOf(shape[1]).min, 1);
  EXPECT_EQ(f.facts.RangeOf(shape[1]).max, 31);
  EXPECT_EQ(f.graph.DimText(f.facts.Canonical(shape[2])), "max(0, W - 2)");
  EXPECT_EQ(f.facts.RangeOf(shape[2]).min, 0);
}

TEST(ShapeFacts, DimSizesThatBroadcastAreNotUnified) {
  ParsedFacts f(R"(
graph @g(%x: f32[S], %y: f32[T], %z: f32[U]) {
  %a = add %x, %y
  %b = add %a, %x
  %c = add %b, %z
  return %c
}
)");
  EXPECT_EQ(f.Canonical("bcast(S, T)"), "bcast(S, T)");
  EXPECT_FALSE(f.Equal("S", "T"));
  ASSERT_EQ(f.facts.checks().size(), 5u);  // three ranges; S with T; both with U; nothing for %b
  EXPECT_EQ(f.facts.checks()[3].relation, ShapeCheck::Relation::kBroadcasts);
  EXPECT_EQ(f.facts.checks()[3].node, "a");
  EXPECT_EQ(f.facts.checks()[4].message,
            "add %5 (\"c\"): dim 0 of lhs (bcast(S, T)) is {lhs}, but dim 0 of rhs (U) is {rhs}, which do not "
            "broadcast");
}

TEST(ShapeFacts, DimSizesThatAreNeverOneAreEqualWhenTheyBroadcast) {
  ParsedFacts f(R"(
graph @g(%x: f32[S], %y: f32[T]) where S in [2, 9], T in [2, 7] {
  %a = add %x, %y
  return %a
}
)");
  EXPECT_TRUE(f.Equal("S", "T"));
  EXPECT_EQ(f.Canonical("bcast(S, T)"), "S");
  EXPECT_EQ(f.RangeOf("S"), (Range{2, 7}));
}

TEST(ShapeFacts, LaterFactsSettleEarlierBroadcasts) {
  ParsedFacts f(R"(
graph @g(%x: f32[S], %y: f32[T], %z: f32[U, T]) where S in [2, 9], U in [5, 5] {
  %a = add %x, %y
  %b = dot %z, %z
  return %a, %b
}
)");
  EXPECT_EQ(f.Canonical("T"), "5");
  EXPECT_EQ(f.Canonical("S"), "5");
}

// A table of 64 rows cut to the length of a sequence: they are 1 together, so broadcasting makes them equal.
TEST(ShapeFacts, DimSizesThatAreOneTogetherAreEqualWhenTheyBroadcast) {
  ParsedFacts f(R"(
graph @g(%x: f32[S], %table: f32[64]) {
  %cut = slice %table {starts = [0], sizes = [min(S, 64)]}
  %a = add %x, %cut
  return %a
}
)");
  EXPECT_EQ(f.Canonical("bcast(S, min(S, 64))"), "S");
  EXPECT_EQ(f.RangeOf("S"), (Range{0, 64}));
  EXPECT_EQ(f.facts.checks().back().relation, ShapeCheck::Relation::kEqual);
}

// As GPT-2 cuts its causal mask for the rows that follow those of the past.
TEST(ShapeFacts, WindowsOfATableAreAsLongAsWhatTheyBroadcastWith) {
  ParsedFacts f(R"(
graph @g(%scores: f32[S, P + S], %past: f32[P], %table: bool[64, 64]) {
  %rows = slice %table {starts = [min(P, 64), 0], sizes = [max(0, min(P + S, 64) - min(P, 64)), 64]}
  %seen = slice %rows {starts = [0, 0], sizes = [max(0, min(P + S, 64) - min(P, 64)), min(P + S, 64)]}
  %masked = select %seen, %scores, %scores
  return %masked, %past
}
)");
  EXPECT_EQ(f.Canonical("max(0, min(P + S, 64) - min(P, 64))"), "S");
  EXPECT_TRUE(f.Equal("bcast(S, max(0, min(P + S, 64) - min(P, 64)))", "S"));
  EXPECT_EQ(f.RangeOf("P"), (Range{0, 64}));
}

TEST(ShapeFacts, DimSizesThatAreOneApartAreNotUnified) {
  ParsedFacts f(R"(
graph @g(%x: f32[S], %table: f32[1], %other: f32[64], %y: f32[T]) {
  %cut = slice %table {starts = [0], sizes = [min(S, 1)]}
  %a = add %x, %cut
  %tail = slice %other {starts = [0], sizes = [max(T - 3, 0)]}
  %b = add %y, %tail
  return %a, %b
}
)");
  EXPECT_FALSE(f.Equal("S", "min(S, 1)"));
  EXPECT_FALSE(f.Equal("T", "max(T - 3, 0)"));
}

// An enlarged level, as dynamo writes its dim size, meets the level below.
TEST(ShapeFacts, ADimSizeThatIsOneOrTheOtherNeedsNoCheck) {
  const ParsedFacts f(R"(
graph @level(%x: f32[floordiv(H + 15, 16), H], %up: f32[max(0, floordiv(H + 15, 16) - 1) + 1, H]) where H {
  %y = add %x, %up
  return "y" = %y
}
)");
  for (const ShapeCheck& check : f.facts.checks()) EXPECT_NE(check.relation, ShapeCheck::Relation::kBroadcasts);
  const Graph& graph = f.graph;
  EXPECT_EQ(graph.type(graph.outputs()[0].value).shape[0], graph.type({graph.inputs()[0], 0}).shape[0]);
}

TEST(ShapeFacts, BroadcastAgainstAConstant) {
  ParsedFacts f(R"(
graph @g(%x: f32[S], %y: f32[8]) {
  %a = add %x, %y
  return %a
}
)");
  EXPECT_EQ(f.RangeOf("S"), (Range{1, 8}));
  EXPECT_EQ(f.facts.checks().back().message,
            "add %2 (\"a\"): dim 0 of lhs (S) is {lhs}, but dim 0 of rhs is {rhs}, which do not broadcast");
}

TEST(ShapeFacts, WhatIsAssuredIsAFactWithoutACheck) {
  Graph graph;
  const DimExpr n = DimExpr::Symbol(*graph.AddSymbol({.name = "N"})),
                m = DimExpr::Symbol(*graph.AddSymbol({.name = "M"}));
  ASSERT_TRUE(graph.AddInput("x", DType::kF32, {n, m}).ok());
  const auto checks = [&] { return ShapeFacts::Collect(graph)->checks().size(); };
  const size_t before = checks();
  Assumption larger{Assumption::Relation::kAtLeast, m, n + 1, "a loop's condition"};
  larger.assured = true;
  ASSERT_TRUE(graph.Assume(larger).ok());
  EXPECT_EQ(checks(), before);
  EXPECT_EQ(ShapeFacts::Collect(graph)->RangeOf(m - n - 1).min, 0);
  Graph checked = graph;
  ASSERT_TRUE(checked.Assume({Assumption::Relation::kAtLeast, n, 3, ""}).ok());
  EXPECT_EQ(ShapeFacts::Collect(checked)->checks().size(), before + 1);
}

TEST(ShapeFacts, AnAssumedBoundPicksTheSideOfAMax) {
  ParsedFacts f(R"(
graph @g(%x: f32[H], %y: f32[max(0, floordiv(H + 1, 2) - 1) + 1]) where H + 2 >= 3 @"stem" {
  return %x, %y
}
)");
  const Shape &x = f.graph.type(f.graph.outputs()[0].value).shape, &y = f.graph.type(f.graph.outputs()[1].value).shape;
  EXPECT_EQ(f.facts.RangeOf(x[0]).min, 1);
  EXPECT_EQ(f.graph.DimText(f.facts.Canonical(y[0])), "floordiv(H + 1, 2)");
}

TEST(ShapeFacts, ProductsOfWhatIsNeverNegativeAreNot) {
  ParsedFacts f("graph @g(%x: f32[H, W]) where floordiv(H, 2) >= 1, floordiv(W, 2) >= 1 {\n  return %x\n}\n");
  const DimExpr h = DimExpr::FloorDiv(DimExpr::Symbol(0), 2), w = DimExpr::FloorDiv(DimExpr::Symbol(1), 2);
  const DimExpr product = DimExpr::Max(0, h - 1) * DimExpr::Max(0, w - 1);
  EXPECT_EQ(f.facts.Canonical(product), h * w - h - w + 1);
  EXPECT_EQ(f.facts.RangeOf(product).min, 0);
}

TEST(ShapeFacts, BoundsReachTheSymbols) {
  const auto ranges = [](const std::string& bound) {
    ParsedFacts f("graph @g(%x: f32[S, T]) where " + bound + " {\n  return %x\n}\n");
    const Range s = f.facts.RangeOf(DimExpr::Symbol(0)), t = f.facts.RangeOf(DimExpr::Symbol(1));
    return absl::StrCat(s.min, "..", s.max == INT32_MAX ? "" : absl::StrCat(s.max), ", ", t.min, "..",
                        t.max == INT32_MAX ? "" : absl::StrCat(t.max));
  };
  EXPECT_EQ(ranges("floordiv(max(0, floordiv(S, 5) - 1) + 1, 2) >= 3"), "30.., 0..");
  EXPECT_EQ(ranges("9 >= floordiv(S, 4)"), "0..39, 0..");
  EXPECT_EQ(ranges("min(S + 1, 2*T) >= 4"), "3.., 2..");
  EXPECT_EQ(ranges("9 >= max(S + 1, 7)"), "0..8, 0..");
  EXPECT_EQ(ranges("max(S, 7) >= 9"), "9.., 0..");
  EXPECT_EQ(ranges("8 >= min(S, 9)"), "0..8, 0..");
  EXPECT_EQ(ranges("max(S, T) >= 9"), "0.., 0..");
  EXPECT_EQ(ranges("S*T >= 1"), "1.., 1..");
}

TEST(ShapeFacts, EqualityWithAnExpressionReplacesTheSymbol) {
  ParsedFacts f(R"(
graph @g(%x: f32[S], %y: f32[T]) where S in [0, 100], T in [0, 50], T == 4*S + 2 {
  %a = neg %x
  return %a
}
)");
  EXPECT_EQ(f.Canonical("T*T"), "16*S*S + 16*S + 4");
  EXPECT_EQ(f.RangeOf("S"), (Range{0, 12}));
  EXPECT_EQ(f.facts.checks().back().message, "assumed equality: T is {lhs}, but 4*S + 2 is {rhs}");
}

TEST(ShapeFacts, CommonFactorsThatAreNeverZeroCancel) {
  ParsedFacts f(R"(
graph @g(%x: f32[B, S], %y: f32[B, T]) where B in [1, 8] {
  %a = reshape %x {shape = [B, T]}
  return %a
}
)");
  EXPECT_TRUE(f.Equal("S", "T"));
  ParsedFacts zero(R"(
graph @g(%x: f32[B, S], %y: f32[B, T]) {
  %a = reshape %x {shape = [B, T]}
  return %a
}
)");
  EXPECT_FALSE(zero.Equal("S", "T"));  // B may be 0
  EXPECT_TRUE(zero.Equal("3*B*S", "3*B*T"));
}

TEST(ShapeFacts, SplittingADimSaysThatItDivides) {
  ParsedFacts f(R"(
graph @g(%x: f32[S]) {
  %a = reshape %x {shape = [floordiv(S, 16), 16]}
  return %a
}
)");
  EXPECT_TRUE(f.facts.ProvablyDivisible(f.Dim("S"), 16));
  EXPECT_EQ(f.Canonical("32*floordiv(S, 16)"), "2*S");
  EXPECT_EQ(f.Canonical("mod(S + 3, 8)"), "3");
}

TEST(ShapeFacts, LikelyValuesOfAllMembersOfAClass) {
  ParsedFacts f(R"(
graph @g(%x: f32[S], %y: f32[T]) where S likely [8, 64], T likely [64, 128], S == T {
  %a = add %x, %y
  return %a
}
)");
  EXPECT_EQ(f.facts.LikelyOf(1), (std::vector<int64_t>{8, 64, 128}));
}

TEST(ShapeFacts, LikelyValuesOfExpressions) {
  ParsedFacts f("graph @g(%x: f32[B, S, T]) where B likely [1, 4], S likely [8, 64] {\n return %x\n}");
  const DimExpr b = DimExpr::Symbol(0), s = DimExpr::Symbol(1), t = DimExpr::Symbol(2);
  EXPECT_EQ(f.facts.LikelyOf(2 * s - 1, 4), (std::vector<int64_t>{15, 127}));
  EXPECT_EQ(f.facts.LikelyOf(b * s, 4), (std::vector<int64_t>{8, 32, 64, 256}));
  EXPECT_EQ(f.facts.LikelyOf(b * s, 3), (std::vector<int64_t>{8, 32, 64}));
  EXPECT_EQ(f.facts.LikelyOf(DimExpr::Min(s, 8), 4), (std::vector<int64_t>{8}));
  EXPECT_EQ(f.facts.LikelyOf(s + t, 4), std::vector<int64_t>());  // nothing is known of T
  EXPECT_EQ(f.facts.LikelyOf(DimExpr(3), 4), std::vector<int64_t>());
}

TEST(ShapeFacts, SourcesOfFacts) {
  ParsedFacts f(R"(
graph @g(%x: f32[M, K], %y: f32[L, N]) where K in [1, 9] {
  %ffn = dot %x, %y
  return %ffn
}
)");
  ASSERT_EQ(f.facts.facts().size(), 2u);
  EXPECT_EQ(f.facts.facts()[1].text, "K == L");
  EXPECT_EQ(f.facts.facts()[1].source, "dot %2 (\"ffn\"): contracted dims");
}

// --- contradictions ---

std::string ErrorOf(const std::string& header, const std::string& line) {
  return FactsText("graph @g(" + header + " {\n  %y = " + line + "\n  return %y\n}\n");
}

TEST(ShapeFactsErrors, EqualityOutsideTheRange) {
  EXPECT_EQ(ErrorOf("%a: f32[4, 3], %b: f32[S, 5]) where S in [0, 2]", "dot %a, %b"),
            "dot %2 (\"y\"): contracted dim of lhs is 3, but of rhs is S in [0, 2]; they can never be equal");
}

TEST(ShapeFactsErrors, EqualityAgainstTheDivisor) {
  EXPECT_EQ(ErrorOf("%a: f32[4, 12], %b: f32[S, 5]) where S in [0, 64] multiple_of 8", "dot %a, %b"),
            "dot %2 (\"y\"): contracted dim of lhs is 12, but of rhs is S in [0, 64], a multiple of 8; they can "
            "never be equal");
}

TEST(ShapeFactsErrors, AssumedNonsense) {
  EXPECT_EQ(ErrorOf("%a: f32[S]) where S in [0, 8], S == S + 1", "neg %a"),
            "assumed equality: S is S in [0, 8], but S + 1 is S + 1 in [1, 9]; they can never be equal");
}

TEST(ShapeFactsErrors, TwoValuesForOneSymbol) {
  EXPECT_EQ(FactsText(R"(
graph @g(%a: f32[4, 3], %b: f32[S, 5], %c: f32[2, 6]) {
  %d = dot %a, %b
  %e = dot %c, %b
  return %d, %e
}
)"),
            "dot %4 (\"e\"): contracted dim of lhs is 6, but of rhs is S = 3; they can never be equal");
}

TEST(ShapeFactsErrors, DimSizesThatNeverBroadcast) {
  EXPECT_EQ(ErrorOf("%a: f32[S], %b: f32[8]) where S in [2, 7]", "add %a, %b"),
            "add %2 (\"y\"): dim 0 of lhs is S in [2, 7], but dim 0 of rhs is 8; they can never broadcast");
}

TEST(ShapeFactsErrors, SliceOutsideTheDim) {
  EXPECT_EQ(ErrorOf("%a: f32[16], %b: f32[S]) where S in [17, 20]", "slice %a {starts = [0], sizes = [S]}"),
            "slice %2 (\"y\"): end in dim 0 is S in [17, 20], but the dim size of x is 16; it can never be so small");
  EXPECT_EQ(ErrorOf("%a: f32[16], %b: f32[S]) where S in [1, 2]", "slice %a {starts = [S - 9], sizes = [2]}"),
            "slice %2 (\"y\"): lowest index in dim 0 is S - 9 in [-8, -7], but must be at least 0");
}

TEST(ShapeFactsErrors, ElementCountsThatNeverAgree) {
  EXPECT_EQ(ErrorOf("%a: f32[S, 4]) where S in [1, 5]", "reshape %a {shape = [7, 3]}"),
            "reshape %1 (\"y\"): element count is 4*S in [4, 20], a multiple of 4, but of the target shape is 21; "
            "they can never be equal");
}

TEST(ShapeFactsErrors, InputDimThatIsNeverADimSize) {
  EXPECT_EQ(ErrorOf("%a: f32[S - 9], %b: f32[S]) where S in [1, 5]", "neg %a"),
            "input \"a\" dim 0 is S - 9, which is never 0 or more in the declared ranges");
}

TEST(ShapeFactsErrors, UnsolvableSymbol) {
  EXPECT_EQ(ErrorOf("%a: f32[S]) where T", "broadcast %a {shape = [T, S]}"),
            "symbol T cannot be solved: no input dim has the form c*T + d, and nothing equates it with other "
            "symbols (broadcast %y has size T)");
  EXPECT_EQ(ErrorOf("%a: f32[S*T, S])", "neg %a"),
            "symbol T cannot be solved: no input dim has the form c*T + d, and nothing equates it with other "
            "symbols (input %a has size S*T)");
}

}  // namespace
}  // namespace tailor
