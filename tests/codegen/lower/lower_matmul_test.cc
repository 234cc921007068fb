#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/codegen/lower/host_programs.h"

namespace tailor::lower {
namespace {

TEST(LowerMatmul, AConvolutionWithItsPaddingBiasAndActivationIsOneMatmul) {
  EXPECT_EQ(Lowered(R"(
graph @conv(%x: f32[N, 3, 8, 8], %w: f32[8, 3, 3, 3], %b: f32[8]) {
  %zero = constant 0 : f32[]
  %p = pad %x, %zero {low = [0, 0, 1, 1], high = [0, 0, 1, 1]}
  %v = window %p {axes = [2, 3], sizes = [3, 3]}
  %t = transpose %v {permutation = [0, 1, 4, 5, 2, 3]}
  %r = reshape %t {shape = [N, 27, 64]}
  %m = reshape %w {shape = [8, 27]}
  %d = dot %r, %m {transpose_lhs = 1, transpose_rhs = 1}
  %e = add %d, %b
  %c = transpose %e {permutation = [0, 2, 1]}
  %o = reshape %c {shape = [N, 8, 8, 8]}
  %y = max %o, %zero
  return "y" = %y
}
)"),
            R"(
g0_dot_pack: kernel axes [a0: 1 parallel, a1: 27 parallel, a2: 16 parallel]
  in b0: f32[8, 3, 3, 3]
  out b1: f32[1, 27, 16]
  stage over []
    b1[0, a1, a2] = b0[a2, 0, 0, a1] if (a2 < 8)
g0_dot: contraction axes [a0: d0 parallel, a1: 64 parallel, a2: 8 parallel, a3: 27 contract, a4: d0 tile, a5: 3 tile, a6: 10 tile, a7: 10 tile]
  m a1, n a2, k a3, fill in stage 0, sum in stage 1
  in b0: f32[d0, 3, 8, 8]
  in b1: f32[27, 8] panels16
  in b2: f32[8]
  out b3: f32[d0, 8, 8, 8]
  local b4: f32[]
  staging b5: f32[d0, 3, 10, 10]
  stage over [a4, a5, a6, a7]
    e0 = and(and(and((0 < a6), (a6 < 9)), (0 < a7)), (a7 < 9))
    b5[a4, a5, a6, a7] = select(e0, b0[a4, a5, (a6 - 1), (a7 - 1)] if e0, 0f00000000)
  stage over [a3]
    e1 = (a3 / 3)
    b4[] = reduce add in f32 mul(b5[a0, (e1 / 3), ((a1 / 8) + (e1 % 3)), ((a1 % 8) + (a3 % 3))], b1[a3, a2])
  stage over []
    b3[a0, a2, 0, a1] = max(add(b4[], b2[a2]), 0f00000000)
alloc w0 = 1728 live [0, 1]
launch 0 g0_dot_pack(in1, w0) dims []
launch 1 g0_dot(in0, w0, in2, out0) dims [N]
)");
}

// A task reads few rows, so rows between the taps are not staged. Dilations of about a task's rows have one range.
TEST(LowerMatmul, TapsThatAreFarApartAreStagedApart) {
  const auto convolution = [](int dilation) {
    const std::string pads = absl::StrCat("[0, 0, ", dilation, ", 0]");
    return Lowered(absl::StrCat("graph @conv(%x: f32[N, 3, 20, 50], %w: f32[27, 8]) {\n  %zero = constant 0 : f32[]\n",
                                "  %p = pad %x, %zero {low = ", pads, ", high = ", pads, "}\n",
                                "  %v = window %p {axes = [2, 3], sizes = [3, 3], dilations = [", dilation, ", 1]}\n",
                                "  %t = transpose %v {permutation = [0, 1, 4, 5, 2, 3]}\n",
                                "  %r = reshape %t {shape = [N, 27, 960]}\n",
                                "  %y = dot %r, %w {transpose_lhs = 1}\n  return %y\n}"));
  };
  const std::string far = convolution(12), near = convolution(2);
  EXPECT_NE(far.find("  staging b4: f32[d0, 3, 3, 44, 50]\n"), std::string::npos) << far;
  EXPECT_NE(near.find("  staging b4: f32[d0, 3, 24, 50]\n"), std::string::npos) << near;
}

TEST(LowerMatmul, RowsPagesApartAreStagedWhereTheyAreReadOften) {
  const auto matmul = [](int rows, int depth, int columns, const TargetTraits& traits = {}) {
    return Lowered(absl::StrCat("graph @g(%x: f32[N, ", depth, ", ", rows, "], %w: f32[", depth, ", ", columns,
                                "]) {\n  %y = dot %x, %w {transpose_lhs = 1}\n  return %y\n}"),
                   {}, traits);
  };
  EXPECT_NE(matmul(2048, 512, 256).find("  staging b4: f32[d0, 512, 2048]\n"), std::string::npos);
  EXPECT_EQ(matmul(2047, 512, 256).find("staging"), std::string::npos);
  EXPECT_EQ(matmul(2048, 511, 256).find("staging"), std::string::npos);
  EXPECT_EQ(matmul(2048, 512, 255).find("staging"), std::string::npos);
  TargetTraits in_place;
  in_place.stage_strided_lhs = false;
  EXPECT_EQ(matmul(2048, 512, 256, in_place).find("staging"), std::string::npos);
}

// Without packed_rhs a matmul reads a matrix in memory as it is, also transposed. Anything else is copied first.
TEST(LowerMatmul, ARowMajorRhsIsNotPacked) {
  TargetTraits row_major;
  row_major.packed_rhs = false;
  const auto matmul = [&](const std::string& w, const std::string& nodes) {
    return Lowered(absl::StrCat("graph @g(%x: f32[N, 24], %w: f32[", w, "]) {\n", nodes, "\n  return %y\n}"), {},
                   row_major);
  };
  EXPECT_EQ(matmul("3, 8, 16", "  %r = reshape %w {shape = [24, 16]}\n  %y = dot %x, %r"), R"(
g0_dot: contraction axes [a0: d0 parallel, a1: 16 parallel, a2: 24 contract]
  m a0, n a1, k a2, sum in stage 0
  in b0: f32[d0, 24]
  in b1: f32[3, 8, 16]
  out b2: f32[d0, 16]
  local b3: f32[]
  stage over [a2]
    b3[] = reduce add in f32 mul(b0[a0, a2], b1[0, a2, a1])
  stage over []
    b2[a0, a1] = b3[]
launch 0 g0_dot(in0, in1, out0) dims [N]
)");
  const std::string transposed = matmul("16, 24", "  %y = dot %x, %w {transpose_rhs = 1}");
  EXPECT_NE(transposed.find("mul(b0[a0, a2], b1[a1, a2])"), std::string::npos) << transposed;
  EXPECT_NE(transposed.find("\nlaunch 0 g0_dot("), std::string::npos) << transposed;
  const std::string copied =
      matmul("3, 8, 16", "  %r = reshape %w {shape = [16, 24]}\n  %y = dot %x, %r {transpose_rhs = 1}");
  EXPECT_NE(copied.find("  out b1: f32[24, 16]\n"), std::string::npos) << copied;
  EXPECT_NE(copied.find("\nlaunch 0 g0_dot_copy(in1, w0)"), std::string::npos) << copied;
  EXPECT_EQ(copied.find("panels16"), std::string::npos) << copied;
}

// A staging buffer holds what its matmul reads, and no longer than it does.
TEST(LowerMatmul, EpiloguesReadNoStagingBuffer) {
  const std::string text = Lowered(R"(
graph @g(%x: f32[N, 512, 2048], %w: f32[512, 256]) {
  %d = dot %x, %w {transpose_lhs = 1}
  %t = transpose %x {permutation = [0, 2, 1]}
  %s = slice %t {starts = [0, 0, 0], sizes = [N, 2048, 256]}
  %y = add %d, %s
  return %y
})");
  EXPECT_NE(text.find("reduce add in f32 mul(b4[a0, a3, a1], b1[a3, a2])"), std::string::npos) << text;
  EXPECT_NE(text.find("b2[a0, a1, a2] = add(b3[], b0[a0, a2, a1])"), std::string::npos) << text;
}

TEST(LowerMatmul, WindowsOfOnePointAreReadInPlace) {
  EXPECT_EQ(Lowered(R"(
graph @g(%x: f32[N, 512, 96, 96], %w: f32[512, 256]) {
  %v = window %x {axes = [2, 3], sizes = [1, 1], strides = [2, 2]}
  %t = transpose %v {permutation = [0, 1, 4, 5, 2, 3]}
  %r = reshape %t {shape = [N, 512, 2304]}
  %y = dot %r, %w {transpose_lhs = 1}
  return %y
})")
                .find("staging"),
            std::string::npos);
}

// Two heads of queries and the batch's mask: rows of one matmul, in which the mask's row is a remainder.
TEST(LowerMatmul, BatchIndicesThatShareARhsAreRows) {
  TargetTraits traits;
  traits.merge_rows = true;
  const auto merged = [&](const std::string& text) { return Lowered(text, {}, traits); };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const std::string heads = merged(R"(
graph @heads(%q: f32[B, 3, 2, M, 8], %k: f32[B, 3, 1, N, 8], %mask: f32[B, 1, 1, M, N]) {
  %s = dot %q, %k {transpose_rhs = 1}
  %y = add %s, %mask
  return "y" = %y
}
)");
  EXPECT_TRUE(has(heads, R"(
  m a2, n a3, k a4, sum in stage 0
  d1: multiple of 2
  in b0: f32[d0, 3, 2, d3, 8]
  in b1: f32[d0, 3, 1, 8, d2] panels16
  in b2: f32[d0, 1, 1, d3, d2]
  out b3: f32[d0, 3, 2, d3, d2]
  local b4: f32[]
  stage over [a4]
    b4[] = reduce add in f32 mul(b0[a0, a1, 0, a2, a4], b1[a0, a1, 0, a4, a3])
  stage over []
    b3[a0, a1, 0, a2, a3] = add(b4[], b2[a0, 0, 0, (a2 % d3), a3])
)")) << heads;
  EXPECT_TRUE(has(heads, "launch 1 g0_dot(in0, w0, in2, out0) dims [B, 2*M, N, M]\n")) << heads;
  const std::string positions = merged(R"(
graph @positions(%x: f32[B, S, 20], %p: f32[S, 32]) {
  %w = constant @w : f32[20, 32]
  %d = dot %x, %w
  %y = add %d, %p
  return "y" = %y
}
)");
  EXPECT_TRUE(has(positions, "b3[0, a0, a1] = add(b4[], b2[(a0 % d2), a1])")) << positions;
  // Rows of heads that lie side by side are no one stride apart; columns that are stored along rows would wrap.
  const std::string apart = merged(R"(
graph @apart(%x: f32[B, M, 2, 8], %k: f32[B, 1, N, 8]) {
  %q = transpose %x {permutation = [0, 2, 1, 3]}
  %y = dot %q, %k {transpose_rhs = 1}
  return "y" = %y
}
)");
  EXPECT_TRUE(has(apart, "a1: 2 parallel, a2: d1 parallel, a3: d2 parallel")) << apart;
  const std::string along_rows = merged(R"(
graph @along_rows(%x: f32[B, 2, M, 8], %k: f32[B, 1, N, 8]) {
  %d = dot %x, %k {transpose_rhs = 1}
  %y = transpose %d {permutation = [0, 1, 3, 2]}
  return "y" = %y
}
)");
  EXPECT_TRUE(has(along_rows, "a1: 2 parallel, a2: d1 parallel, a3: d2 parallel")) << along_rows;
}

TEST(LowerMatmul, RightOperandsInBF16ArePackedInPairs) {
  EXPECT_EQ(Lowered(R"(
graph @pairs(%x: bf16[M, K], %y: bf16[K, 32], %z: bf16[N, 6]) {
  %p = dot %x, %y
  %q = dot %z, %z {transpose_rhs = 1}
  return "p" = %p, "q" = %q
}
)"),
            R"(
g0_dot_pack: kernel axes [a0: 2 parallel, a1: d0 parallel, a2: 16 parallel]
  in b0: bf16[d1, 32]
  out b1: u32[2, d0, 16]
  stage over []
    e0 = (a1 * 2)
    e1 = ((a0 * 16) + a2)
    e2 = (e0 + 1)
    b1[a0, a1, a2] = or(cast<u32>(bitcast<u16>(b0[e0, e1])), shift_left(cast<u32>(bitcast<u16>(b0[e2, e1] if (e2 < d1))), u32:0x10))
g0_dot: contraction axes [a0: d0 parallel, a1: 32 parallel, a2: d1 contract]
  m a0, n a1, k a2, sum in stage 0
  in b0: bf16[d0, d1]
  in b1: bf16[d1, 32] word_panels16
  out b2: bf16[d0, 32]
  local b3: f32[]
  stage over [a2]
    b3[] = reduce add in f32 mul<f32>(b0[a0, a2], b1[a2, a1])
  stage over []
    b2[a0, a1] = cast<bf16>(b3[])
g1_dot_pack: kernel axes [a0: d0 parallel, a1: 3 parallel, a2: 16 parallel]
  in b0: bf16[d1, 6]
  out b1: u32[d0, 3, 16]
  stage over []
    e0 = ((a0 * 16) + a2)
    e1 = (a1 * 2)
    e2 = (e0 < d1)
    b1[a0, a1, a2] = or(cast<u32>(bitcast<u16>(b0[e0, e1] if e2)), shift_left(cast<u32>(bitcast<u16>(b0[e0, (e1 + 1)] if e2)), u32:0x10))
g1_dot: contraction axes [a0: d0 parallel, a1: d0 parallel, a2: 6 contract]
  m a0, n a1, k a2, sum in stage 0
  in b0: bf16[d0, 6]
  in b1: bf16[6, d0] word_panels16
  out b2: bf16[d0, d0]
  local b3: f32[]
  stage over [a2]
    b3[] = reduce add in f32 mul<f32>(b0[a0, a2], b1[a2, a1])
  stage over []
    b2[a0, a1] = cast<bf16>(b3[])
alloc w0 = 128*floordiv(K + 1, 2) live [0, 1]
alloc w1 = 192*floordiv(N + 15, 16) live [2, 3]
launch 0 g0_dot_pack(in1, w0) dims [floordiv(K + 1, 2), K]
launch 1 g0_dot(in0, w0, out0) dims [M, K]
launch 2 g1_dot_pack(in2, w1) dims [floordiv(N + 15, 16), N]
launch 3 g1_dot(in2, w1, out1) dims [N]
)");
}

TEST(LowerMatmul, MatmulsReadPanelsAndStoreThroughViews) {
  EXPECT_EQ(Lowered(R"(
graph @heads(%x: f32[B, S, 64], %k: f32[B, S, 64], %t: f32[B, 2, T, 3]) {
  %w = constant @w : f32[64, 64]
  %q0 = dot %x, %w {transpose_rhs = 1}
  %q1 = reshape %q0 {shape = [B, S, 2, 32]}
  %q = transpose %q1 {permutation = [0, 2, 1, 3]}
  %k1 = reshape %k {shape = [B, S, 2, 32]}
  %k2 = transpose %k1 {permutation = [0, 2, 1, 3]}
  %s = dot %q, %k2 {transpose_rhs = 1}
  %o = dot %t, %t {transpose_lhs = 1}
  %o1 = transpose %o {permutation = [0, 2, 1, 3]}
  %o2 = reshape %o1 {shape = [B, 3, 6]}
  return "s" = %s, "o" = %o2
}
)"),
            R"(
g0_dot: contraction axes [a0: d0 parallel, a1: 64 parallel, a2: 64 contract]
  m a0, n a1, k a2, sum in stage 0
  in b0: f32[d1, d2, 64]
  in b1: f32[64, 64] panels16
  out b2: f32[d1, d2, 64]
  local b3: f32[]
  stage over [a2]
    b3[] = reduce add in f32 mul(b0[0, a0, a2], b1[a2, a1])
  stage over []
    b2[0, a0, a1] = b3[]
g1_dot_pack: kernel axes [a0: d0 parallel, a1: 2 parallel, a2: d1 parallel, a3: 32 parallel, a4: 16 parallel]
  in b0: f32[d0, d2, 64]
  out b1: f32[d0, 2, d1, 32, 16]
  stage over []
    e0 = ((a2 * 16) + a4)
    b1[a0, a1, a2, a3, a4] = b0[a0, e0, ((a1 * 32) + a3)] if (e0 < d2)
g1_dot: contraction axes [a0: d0 parallel, a1: 2 parallel, a2: d1 parallel, a3: d1 parallel, a4: 32 contract]
  m a2, n a3, k a4, sum in stage 0
  in b0: f32[d0, d1, 64]
  in b1: f32[d0, 2, 32, d1] panels16
  out b2: f32[d0, 2, d1, d1]
  local b3: f32[]
  stage over [a4]
    b3[] = reduce add in f32 mul(b0[a0, a2, ((a1 * 32) + a4)], b1[a0, a1, a4, a3])
  stage over []
    b2[a0, a1, a2, a3] = b3[]
g2_dot_pack: kernel axes [a0: d0 parallel, a1: 1 parallel, a2: d1 parallel, a3: 16 parallel]
  in b0: f32[d2, 2, d1, 3]
  out b1: f32[d2, 2, 1, d1, 16]
  stage over []
    b1[0, a0, 0, a2, a3] = b0[0, a0, a2, a3] if (a3 < 3)
g2_dot: contraction axes [a0: d0 parallel, a1: 2 parallel, a2: 3 parallel, a3: 3 parallel, a4: d1 contract]
  m a2, n a3, k a4, sum in stage 0
  in b0: f32[d0, 2, d1, 3]
  in b1: f32[d0, 2, d1, 3] panels16
  out b2: f32[d0, 3, 6]
  local b3: f32[]
  stage over [a4]
    b3[] = reduce add in f32 mul(b0[a0, a1, a4, a2], b1[a0, a1, a4, a3])
  stage over []
    b2[a0, a2, ((a1 * 3) + a3)] = b3[]
alloc w0 = 256*B*S live [0, 2]
alloc w1 = 4096*B*floordiv(S + 15, 16) live [1, 2]
alloc w2 = 128*B*T live [3, 4]
launch 0 g0_dot(in0, c0, w0) dims [B*S, B, S]
launch 1 g1_dot_pack(in1, w1) dims [B, floordiv(S + 15, 16), S]
launch 2 g1_dot(w0, w1, out0) dims [B, S]
launch 3 g2_dot_pack(in2, w2) dims [2*B, T, B]
launch 4 g2_dot(in2, w2, out1) dims [B, T]
)");
}

TEST(LowerMatmul, AttentionIsAChainWithoutItsScoresInMemory) {
  EXPECT_EQ(Lowered(R"(
graph @attention(%q: f32[B, 4, S, 32], %k: f32[B, 4, T, 32], %v: f32[B, 4, T, 32], %mask: f32[B, 1, 1, T]) {
  %scores = dot %q, %k {transpose_rhs = 1}
  %masked = add %scores, %mask
  %top = reduce_max %masked {axes = [3], keep_dims = 1}
  %below = sub %masked, %top
  %e = exp %below
  %sum = reduce_sum %e {axes = [3], keep_dims = 1}
  %p = div %e, %sum
  %y = dot %p, %v
  return %y
}
)"),
            R"(
g0_dot_pack: kernel axes [a0: d0 parallel, a1: d1 parallel, a2: 32 parallel, a3: 16 parallel]
  in b0: f32[d2, 4, d3, 32]
  out b1: f32[d2, 4, d1, 32, 16]
  stage over []
    e0 = ((a1 * 16) + a3)
    b1[0, a0, a1, a2, a3] = b0[0, a0, e0, a2] if (e0 < d3)
g2_dot_pack: kernel axes [a0: d0 parallel, a1: 2 parallel, a2: d1 parallel, a3: 16 parallel]
  in b0: f32[d2, 4, d1, 32]
  out b1: f32[d2, 4, 2, d1, 16]
  stage over []
    b1[0, a0, a1, a2, a3] = b0[0, a0, a2, ((a1 * 16) + a3)]
g0_dot+g1_reduce_max+g2_dot: chain axes [a0: d0 parallel, a1: 4 parallel, a2: d1 parallel]
  d3: multiple of 4
  in b0: f32[d0, 4, d1, 32]
  in b1: f32[d0, 4, 32, d2] panels16
  in b2: f32[d0, 1, 1, d2]
  in b3: f32[d0, 4, d2, 32] panels16
  out b4: f32[d0, 4, d1, 32]
  block b5: f32[d2]
  block b6: f32[d2]
  link(b0, b1, b2, b5; d0, d1, d2) contraction axes [a0: d0 parallel, a1: 4 parallel, a2: d1 parallel, a3: d2 parallel, a4: 32 contract]
      m a2, n a3, k a4, sum in stage 0
      in b0: f32[d0, 4, d1, 32]
      in b1: f32[d0, 4, 32, d2] panels16
      in b2: f32[d0, 1, 1, d2]
      out b3: f32[d0, 4, d1, d2]
      local b4: f32[]
      stage over [a4]
        b4[] = reduce add in f32 mul(b0[a0, a1, a2, a4], b1[a0, a1, a4, a3])
      stage over []
        b3[a0, a1, a2, a3] = add(b4[], b2[a0, 0, 0, a3])
  link(b5, b6; d3, d2, d0, d1) kernel axes [a0: d0 parallel, a1: d1 tile]
      d0: multiple of 4
      in b0: f32[d2, 4, d3, d1]
      out b1: f32[d2, 4, d3, d1]
      row b2: f32[d1]
      local b3: f32[]
      local b4: f32[]
      stage over [a1]
        e0 = b0[0, 0, a0, a1]
        b3[] = reduce max in f32 e0
      stage over [a1]
        e1 = exp(sub(e0, b3[]))
        b2[a1] = e1
        b4[] = reduce add in f32 e1
      stage over [a1]
        b1[0, 0, a0, a1] = div(b2[a1], b4[])
  link(b6, b3, b4; d0, d1, d2) contraction axes [a0: d0 parallel, a1: 4 parallel, a2: d1 parallel, a3: 32 parallel, a4: d2 contract]
      m a2, n a3, k a4, sum in stage 0
      in b0: f32[d0, 4, d1, d2]
      in b1: f32[d0, 4, d2, 32] panels16
      out b2: f32[d0, 4, d1, 32]
      local b3: f32[]
      stage over [a4]
        b3[] = reduce add in f32 mul(b0[a0, a1, a2, a4], b1[a0, a1, a4, a3])
      stage over []
        b2[a0, a1, a2, a3] = b3[]
alloc w0 = 8192*B*floordiv(T + 15, 16) live [0, 2]
alloc w1 = 512*B*T live [1, 2]
launch 0 g0_dot_pack(in1, w0) dims [4*B, floordiv(T + 15, 16), B, T]
launch 1 g2_dot_pack(in2, w1) dims [4*B, T, B]
launch 2 g0_dot+g1_reduce_max+g2_dot(in0, w0, in3, w1, out0) dims [B, S, T, 4*B*S]
)");
}

TEST(LowerMatmul, AnOfferedGemmStandsBesideTheKernelItReplaces) {
  EXPECT_EQ(Lowered(R"(
graph @layer(%x: f32[B, S, 8], %w: f32[T, 8], %b: f32[T]) {
  %d = dot %x, %w {transpose_rhs = 1}
  %y = add %d, %b
  return "y" = %y
}
)",
                    {.offer_products = true}),
            R"(
g0_dot_pack: kernel axes [a0: d0 parallel, a1: 8 parallel, a2: 16 parallel]
  in b0: f32[d1, 8]
  out b1: f32[d0, 8, 16]
  stage over []
    e0 = ((a0 * 16) + a2)
    b1[a0, a1, a2] = b0[e0, a1] if (e0 < d1)
g0_dot: contraction axes [a0: d0 parallel, a1: d1 parallel, a2: 8 contract]
  m a0, n a1, k a2, sum in stage 0
  in b0: f32[d2, d3, 8]
  in b1: f32[8, d1] panels16
  in b2: f32[d1]
  out b3: f32[d2, d3, d1]
  local b4: f32[]
  stage over [a2]
    b4[] = reduce add in f32 mul(b0[0, a0, a2], b1[a2, a1])
  stage over []
    b3[0, a0, a1] = add(b4[], b2[a1])
g0_dot_after: kernel axes [a0: d0 parallel, a1: d1 parallel]
  in b0: f32[d2, d3, d1]
  in b1: f32[d1]
  out b2: f32[d2, d3, d1]
  stage over []
    b2[0, a0, a1] = add(b0[0, a0, a1], b1[a1])
alloc w0 = 512*floordiv(T + 15, 16) live [0, 1]
launch 0 g0_dot_pack(in1, w0) dims [floordiv(T + 15, 16), T] unless matmul 0 is taken
launch 1 g0_dot(in0, w0, in2, out0) dims [B*S, T, B, S] unless matmul 0 is taken
matmul 0 g0_dot(in0 strides [8*S, 8, 1], in1 strides [8*T, 1, 8], out0) batch, m, n, k [1, B*S, T, 8] if matmul 0 is taken
launch 2 g0_dot_after(out0, in2, out0) dims [B*S, T, B, S] if matmul 0 is taken
)");
}

TEST(LowerMatmul, AMatmulWhoseOperandTheKernelComputesIsNotOffered) {
  EXPECT_EQ(Lowered(R"(
graph @columns(%x: f32[M, 4, K], %w: f32[K, N]) {
  %t = slice %x {starts = [0, 1, 0], sizes = [M, 1, K]}
  %r = reshape %t {shape = [M, K]}
  %d = dot %r, %w
  return "y" = %d
}
)",
                    {.offer_products = true})
                .find("matmul"),
            std::string::npos);
}

}  // namespace
}  // namespace tailor::lower
