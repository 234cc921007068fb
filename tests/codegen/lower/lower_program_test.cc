#include <string>

#include "gmock/gmock.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/codegen/lower/host_programs.h"

namespace tailor::lower {
namespace {

TEST(LowerProgram, APoolReadsItsWindowsInPlace) {
  EXPECT_EQ(Lowered(R"(
graph @pool(%x: f32[N, C, H, W]) {
  %least = constant -inf : f32[]
  %p = pad %x, %least {low = [0, 0, 1, 1], high = [0, 0, 1, 1]}
  %w = window %p {axes = [2, 3], sizes = [3, 3], strides = [2, 1]}
  %y = reduce_max %w {axes = [4, 5]}
  return "y" = %y
}
)"),
            R"(
g0_reduce_max: kernel axes [a0: d0 parallel, a1: d1 parallel, a2: d2 parallel, a3: 3 tile, a4: 3 tile]
  in b0: f32[d3, d4, d5, d2]
  out b1: f32[d3, d4, d1, d2]
  local b2: f32[]
  stage over [a3, a4]
    e0 = ((a1 * 2) + a3)
    e1 = (a2 + a4)
    e2 = and(and(and((0 < e0), (e0 < d6)), (0 < e1)), (e1 < d7))
    b2[] = reduce max in f32 select(e2, b0[0, a0, (e0 - 1), (e1 - 1)] if e2, -inffff800000)
  stage over []
    b1[0, a0, a1, a2] = b2[]
launch 0 g0_reduce_max(in0, out0) dims [N*C, floordiv(H + 1, 2), W, N, C, H, H + 1, W + 1]
)");
}

// Lanes may run across the planes of all images (codegen/cpu/loops/plane_windows.h).
TEST(LowerProgram, AMergedAxisKeepsWhatDividesIt) {
  EXPECT_THAT(Lowered(R"(
graph @pool(%x: f32[N, 24, H, W]) where N in [1, 8] {
  %w = window %x {axes = [2, 3], sizes = [3, 3], strides = [2, 1]}
  %y = reduce_max %w {axes = [4, 5]}
  return "y" = %y
}
)"),
              testing::HasSubstr("  d0: multiple of 8\n"));
}

// A level of a feature pyramid: where both joins are equal the window reads H and W, else bcast(...).
TEST(LowerProgram, JoinedDimSizesGiveTwoVersions) {
  const std::string text = R"(
graph @level(%x: f32[8, H, W], %top: f32[8, I, J]) {
  %sum = add %x, %top
  %zero = constant 0 : f32[]
  %p = pad %sum, %zero {low = [0, 1, 1], high = [0, 1, 1]}
  %w = window %p {axes = [1, 2], sizes = [3, 3]}
  %y = reduce_sum %w {axes = [3, 4]}
  return "y" = %y
}
)";
  const auto lowered = LowerGraph(*ParseGraph(text), TargetTraits{});
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  ASSERT_EQ(lowered->programs.size(), 3u);
  EXPECT_EQ(lowered->programs[0].Text(), R"(bind H = input 0 dim 1
bind W = input 0 dim 2
bind I = input 1 dim 1
bind J = input 1 dim 2
if H == I, W == J program 2 else 1
output 0 [8, bcast(H, I), bcast(W, J)]
)");
  EXPECT_EQ(lowered->programs[2].output_dims[0][1], DimExpr::Symbol(0));
  ASSERT_FALSE(lowered->facts.empty());
  EXPECT_EQ(lowered->facts.back(), "H == I, W == J (in one of 2 versions)");
  const auto one = LowerGraph(*ParseGraph(text), TargetTraits{}, {.versions = false});
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->programs.size(), 1u);
}

TEST(LowerProgram, SoftmaxKeepsExponentialsInScratch) {
  EXPECT_EQ(Lowered(R"(
graph @softmax(%x: f32[B, S, C], %m: f32[B, 1, C]) {
  %a = add %x, %m
  %m1 = reduce_max %a {axes = [-1], keep_dims = 1}
  %s = sub %a, %m1
  %e = exp %s
  %t = reduce_sum %e {axes = [-1], keep_dims = 1}
  %y = div %e, %t
  return "y" = %y
}
)"),
            R"(
g0_reduce_max: kernel axes [a0: d0 parallel, a1: d1 parallel, a2: d2 tile]
  in b0: f32[d0, d1, d2]
  in b1: f32[d0, 1, d2]
  out b2: f32[d0, d1, d2]
  row b3: f32[d2]
  local b4: f32[]
  local b5: f32[]
  stage over [a2]
    e0 = add(b0[a0, a1, a2], b1[a0, 0, a2])
    b4[] = reduce max in f32 e0
  stage over [a2]
    e1 = exp(sub(e0, b4[]))
    b3[a2] = e1
    b5[] = reduce add in f32 e1
  stage over [a2]
    b2[a0, a1, a2] = div(b3[a2], b5[])
launch 0 g0_reduce_max(in0, in1, out0) dims [B, S, C]
)");
}

std::string NormOfPatches(const std::string& other) {
  return Lowered(R"(
graph @norm(%x: f32[C*H, 2, W, 2], %c: f32[C], %h: f32[H]) {
  %t = transpose %x {permutation = [0, 2, 1, 3]}
  %r = reshape %t {shape = [C, H*W, 4]}
  %p = transpose %r {permutation = [2, 1, 0]}
  %mean = reduce_mean %p {axes = [2], keep_dims = 1}
)" + other + "  %y = sub %o, %mean\n  return \"y\" = %y\n}\n");
}

// Elements that are gathered, here of patches of an image, are gathered once. What is computed from them is cheap.
TEST(LowerProgram, LayerNormKeepsGatheredElements) {
  EXPECT_EQ(NormOfPatches("  %o = add %p, %c\n"), R"(
g0_reduce_mean: kernel axes [a0: 4 parallel, a1: d0 parallel, a2: d1 tile]
  in b0: f32[d2, 2, d3, 2]
  in b1: f32[d1]
  out b2: f32[4, d0, d1]
  row b3: f32[d1]
  local b4: f32[]
  stage over [a2]
    e0 = b0[((a2 * d4) + (a1 / d3)), (a0 / 2), (a1 % d3), (a0 % 2)]
    b3[a2] = e0
    b4[] = reduce add in f32 e0
  stage over [a2]
    b2[a0, a1, a2] = sub(add(b3[a2], b1[a2]), div(b4[], cast<f32>(d1)))
launch 0 g0_reduce_mean(in0, in1, out0) dims [H*W, C, C*H, W, H]
)");
}

// Not if they are also read at another place of the row.
TEST(LowerProgram, ElementsReadAtSeveralPlacesAreNotKept) {
  for (const char* other : {"  %z = constant 0 : f32[]\n  %o = pad %p, %z {low = [0, 0, 1], high = [0, 0, -1]}\n",
                            "  %i = iota {shape = [C], axis = 0, dtype = i64}\n  %o = gather %p, %i {axis = 2}\n"}) {
    const std::string lowered = NormOfPatches(other);
    EXPECT_THAT(lowered, testing::HasSubstr("reduce add"));
    EXPECT_THAT(lowered, testing::Not(testing::HasSubstr("  row "))) << other;
  }
}

TEST(LowerProgram, LayerNormRecomputesCheapValuesAndStoresRowResults) {
  EXPECT_EQ(Lowered(R"(
graph @norm(%x: f32[B, S, 384], %r: f32[B, S, 384], %g: f32[384], %b: f32[384]) {
  %y = add %x, %r
  %mean = reduce_mean %y {axes = [2], keep_dims = 1}
  %cent = sub %y, %mean
  %sq = mul %cent, %cent
  %var = reduce_mean %sq {axes = [2], keep_dims = 1}
  %eps = constant 1e-12 : f32[]
  %ve = add %var, %eps
  %rs = rsqrt %ve
  %n = mul %cent, %rs
  %n2 = mul %n, %g
  %n3 = add %n2, %b
  return "y" = %n3, "mean" = %mean
}
)"),
            R"(
g0_reduce_mean: kernel axes [a0: d0 parallel, a1: 384 tile]
  in b0: f32[d1, d2, 384]
  in b1: f32[d1, d2, 384]
  in b2: f32[384]
  in b3: f32[384]
  out b4: f32[d1, d2, 1]
  out b5: f32[d1, d2, 384]
  local b6: f32[]
  local b7: f32[]
  stage over [a1]
    e0 = add(b0[0, a0, a1], b1[0, a0, a1])
    b6[] = reduce add in f32 e0
  stage over []
    e1 = cast<f32>(384)
    e2 = div(b6[], e1)
    b4[0, a0, 0] = e2
  stage over [a1]
    e3 = sub(e0, e2)
    b7[] = reduce add in f32 mul(e3, e3)
  stage over [a1]
    b5[0, a0, a1] = add(mul(mul(e3, rsqrt(add(div(b7[], e1), 1e-12f2b8cbccc))), b2[a1]), b3[a1])
launch 0 g0_reduce_mean(in0, in1, in2, in3, out1, out0) dims [B*S, B, S]
)");
}

TEST(LowerProgram, ScatterCopiesThenUpdatesInOrder) {
  EXPECT_EQ(Lowered(R"(
graph @g(%x: f32[V, 64], %i: i32[N, 1], %u: f32[N, 64]) {
  %s = scatter %x, %i, %u {combiner = "add"}
  return "y" = %s
}
)"),
            R"(
g0_scatter_copy: kernel axes [a0: d0 parallel]
  in b0: f32[d1, 64]
  out b1: f32[d1, 64]
  stage over []
    b1[0, a0] = b0[0, a0]
g0_scatter: kernel axes [a0: 64 parallel, a1: d0 ordered]
  in b0: i32[d0, 1]
  in b1: f32[d0, 64]
  out b2: f32[d1, 64]
  faults: 1
  stage over [a1]
    e0 = gather(b0[a1, 0], d1, fault 0)
    b2[e0, a0] = add(b2[e0, a0], b1[a1, a0])
launch 0 g0_scatter_copy(in0, out0) dims [64*V, V]
launch 1 g0_scatter(in1, in2, out0) dims [N, V] faults from 7
)");
}

TEST(LowerProgram, AScanTakesTheLoopsAroundIt) {
  EXPECT_EQ(Lowered(R"(
graph @g(%x: bf16[B, S, 64], %y: bf16[B, S, 64]) {
  %e = exp %x
  %s = scan %e {axis = 1, combiner = "add", reverse = 1, exclusive = 1}
  %z = mul %s, %y
  return "z" = %z
}
)"),
            R"(
g0_scan: kernel axes [a0: d0 parallel, a1: 64 parallel, a2: d1 ordered]
  in b0: bf16[d0, d1, 64]
  in b1: bf16[d0, d1, 64]
  out b2: bf16[d0, d1, 64]
  local b3: f32[]
  stage over [a2]
    e0 = (d2 - a2)
    b3[] = exclusive scan add in f32 exp(b0[a0, e0, a1])
    b2[a0, e0, a1] = mul(cast<bf16>(b3[]), b1[a0, e0, a1])
launch 0 g0_scan(in0, in1, out0) dims [B, S, S - 1]
)");
}

TEST(LowerProgram, GatherGuardsAnEmptyTable) {
  EXPECT_EQ(Lowered(R"(
graph @embed(%table: f32[V, 384], %ids: i64[B, S], %pos: f32[512, 384]) where S in [0, 512] {
  %w = gather %table, %ids
  %p = slice %pos {starts = [0, 0], sizes = [S, 384]}
  %y = add %w, %p
  return "y" = %y
}
)"),
            R"(
g0_add: kernel axes [a0: d0 parallel, a1: d1 parallel, a2: 384 parallel]
  d1: multiple of 1, at most 512
  in b0: i64[d0, d1]
  in b1: f32[d2, 384]
  in b2: f32[512, 384]
  out b3: f32[d0, d1, 384]
  faults: 1
  stage over []
    b3[a0, a1, a2] = add(b1[gather(b0[a0, a1], d2, fault 0), a2] if (0 < d2), b2[a1, a2])
launch 0 g0_add(in1, in0, in2, out0) dims [B, S, V] faults from 6
)");
}

TEST(LowerProgram, ViewsBecomeIndexMaps) {
  EXPECT_EQ(Lowered(R"(
graph @mixed(%a: f32[M, N], %b: f32[K, N], %c: f32[T, N]) {
  %ab = concat %a, %b {axis = 0}
  %r = reshape %ab {shape = [(M + K)*N]}
  %t = transpose %ab {permutation = [1, 0]}
  %i = iota {shape = [N, M + K], axis = 1, dtype = i32}
  %f = cast %i {dtype = f32}
  %s = add %t, %f
  %q = add %a, %c
  return "r" = %r, "s" = %s, "q" = %q, "a" = %a
}
)"),
            R"(
g0_concat: kernel axes [a0: d0 parallel, a1: d1 parallel]
  in b0: f32[d2, d1]
  in b1: f32[d3, d1]
  out b2: f32[d0, d1]
  stage over []
    e0 = (a0 < d2)
    b2[a0, a1] = select(e0, b0[a0, a1] if e0, b1[(a0 - d2), a1] if not(e0))
g1_reshape: kernel axes [a0: d0 parallel]
  in b0: f32[d1, d2]
  out b1: f32[d0]
  stage over []
    b1[a0] = b0[0, a0]
g2_add: kernel axes [a0: d0 parallel, a1: d1 parallel]
  in b0: f32[d1, d0]
  out b1: f32[d0, d1]
  stage over []
    b1[a0, a1] = add(b0[a1, a0], cast<f32>(cast<i32>(a1)))
g3_add: kernel axes [a0: d0 parallel, a1: d1 parallel]
  in b0: f32[d2, d1]
  in b1: f32[d3, d1]
  out b2: f32[d0, d1]
  stage over []
    b2[a0, a1] = add(b0[bcast(a0, d2), a1], b1[bcast(a0, d3), a1])
g4_reshape: kernel axes [a0: d0 parallel]
  in b0: f32[d1, d2]
  out b1: f32[d1, d2]
  stage over []
    b1[0, a0] = b0[0, a0]
alloc w0 = 4*M*N + 4*N*K live [0, 2]
launch 0 g0_concat(in0, in1, w0) dims [M + K, N, M, K]
launch 1 g1_reshape(w0, out0) dims [M*N + N*K, M + K, N]
launch 2 g2_add(w0, out1) dims [N, M + K]
launch 3 g3_add(in0, in2, out2) dims [bcast(M, T), N, M, T]
launch 4 g4_reshape(in0, out3) dims [M*N, M, N]
)");
}

// Statistics of groups of channels, as exporters write group norm: an element's group follows from its channel, not
// from its position divided by the size of a group.
TEST(LowerProgram, AGroupOfChannelsIsAQuotientOfTheChannel) {
  EXPECT_EQ(Lowered(R"(
graph @groups(%x: f32[N, 64, H, W], %mean: f32[N, 32, 1]) {
  %g = reshape %x {shape = [N, 32, 2*H*W]}
  %d = sub %g, %mean
  %y = reshape %d {shape = [N, 64, H, W]}
  return "y" = %y
}
)"),
            R"(
g0_sub: kernel axes [a0: d0 parallel, a1: 64 parallel, a2: d1 parallel]
  in b0: f32[d0, 64, d2, d3]
  in b1: f32[d0, 32, 1]
  out b2: f32[d0, 64, d2, d3]
  stage over []
    b2[a0, a1, 0, a2] = sub(b0[a0, 0, 0, (((a1 * d2) * d3) + a2)], b1[a0, (a1 / 2), 0])
launch 0 g0_sub(in0, in1, out0) dims [N, H*W, H, W]
)");
}

// Loops run over the dims before a merge, without quotients and remainders; not along a short or unknown one.
TEST(LowerProgram, AMergedTensorIsStoredByTheDimsBeforeTheMerge) {
  EXPECT_EQ(Lowered(R"(
graph @tile(%x: f32[1, M, 1, 40]) {
  %b = broadcast %x {shape = [4, M, 3, 40]}
  %y = reshape %b {shape = [4*M, 120]}
  return "y" = %y
}
)"),
            R"(
g0_broadcast: kernel axes [a0: 4 parallel, a1: d0 parallel, a2: 3 parallel, a3: 40 parallel]
  in b0: f32[1, d0, 1, 40]
  out b1: f32[d1, 120]
  stage over []
    b1[((a0 * d0) + a1), ((a2 * 40) + a3)] = b0[0, a1, 0, a3]
launch 0 g0_broadcast(in0, out0) dims [M, 4*M]
)");
  EXPECT_EQ(Lowered(R"(
graph @depth_to_space(%x: f32[2, 2, 8, H, W]) {
  %t = transpose %x {permutation = [2, 3, 0, 4, 1]}
  %y = reshape %t {shape = [8, 2*H, 2*W]}
  return "y" = %y
}
)"),
            R"(
g0_transpose: kernel axes [a0: 8 parallel, a1: d0 parallel, a2: d1 parallel]
  in b0: f32[2, 2, 8, d2, d3]
  out b1: f32[8, d0, d1]
  stage over []
    b1[a0, a1, a2] = b0[(a1 % 2), (a2 % 2), a0, (a1 / 2), (a2 / 2)]
launch 0 g0_transpose(in0, out0) dims [2*H, 2*W, H, W]
)");
}

TEST(LowerProgram, ASizeThatOutgrowsAnExpressionIsAnError) {
  std::string symbols, sum;
  for (int i = 0; i < 16; ++i) {
    const std::string name = "S" + std::to_string(i);
    symbols += ", %i" + std::to_string(i) + ": u8[" + name + "]";
    sum += (i > 0 ? " + " : "") + name;
  }
  const std::string shape = "[" + sum + ", 2*(" + sum + "), 3*(" + sum + "), 4*(" + sum + ")]";
  const std::string text = Lowered("graph @g(%x: f32[]" + symbols + ") {\n  %y = broadcast %x {shape = " + shape +
                                   "}\n  return \"y\" = %y\n}");
  EXPECT_NE(text.find("RESOURCE_EXHAUSTED: the number of elements of f32["), std::string::npos) << text;
}

}  // namespace
}  // namespace tailor::lower
