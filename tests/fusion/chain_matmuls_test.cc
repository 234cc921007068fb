#include "fusion/chain_matmuls.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/fusion/fused_text.h"

namespace tailor {
namespace {

// The chains of the whole pipeline's plan, and what it refuses to chain.
std::string Chained(const std::string& graph_text) {
  std::string text = "\n";
  std::istringstream lines(FusedText(graph_text));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("chain ", 0) == 0 || line.find(" in chain-matmuls: ") != std::string::npos) text += line + "\n";
  }
  return text;
}

constexpr char kAttention[] = R"(
graph @attention(%q: f32[B, H, S, 32], %k: f32[B, H, T, 32], %v: f32[B, H, T, 32], %mask: f32[B, 1, 1, T]) {
  %scores = dot %q, %k {transpose_rhs = 1}
  %scale = constant 0.125 : f32[]
  %scaled = mul %scores, %scale
  %masked = add %scaled, %mask
  %top = reduce_max %masked {axes = [3], keep_dims = 1}
  %below = sub %masked, %top
  %e = exp %below
  %sum = reduce_sum %e {axes = [3], keep_dims = 1}
  %p = div %e, %sum
  %mixed = dot %p, %v
  %heads = transpose %mixed {permutation = [0, 2, 1, 3]}
  %joined = reshape %heads {shape = [B, S, 32*H]}
  return "y" = %joined
})";

TEST(ChainMatmuls, AttentionIsOneKernel) {
  EXPECT_EQ("\n" + FusedText(kAttention), R"(
g0 contraction [B, H, S, T | 32] in(%q, %k, %mask) out(%masked) { %scores = dot %q, %k; %scaled = mul %scores, 0.125; %masked = add %scaled, %mask }
g1 row [B, H, S | T] in(%masked) out(%p) { %top = reduce_max %masked; %below = sub %masked, %top; %e = exp %below; %sum = reduce_sum %e; %p = div %e, %sum }
g2 contraction [B, H, S, 32 | T] in(%v, %p) out(%joined) { %mixed = dot %p, %v } then { %heads = transpose %mixed; %joined = reshape %heads }
chain g0 g1 g2
)");
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ChainMatmuls, WhatIsWantedElsewhereIsInMemory) {
  EXPECT_EQ(Chained(Replaced(kAttention, "return ", "return \"p\" = %p, ")), R"(
refused %masked -> %top in chain-matmuls: %p is wanted elsewhere as well
refused %p -> %mixed in chain-matmuls: %p is wanted elsewhere as well
)");
  EXPECT_EQ(Chained(Replaced(kAttention, "return ", "return \"s\" = %masked, ")), R"(
refused %masked -> %top in chain-matmuls: %masked is wanted elsewhere as well
refused %p -> %mixed in chain-matmuls: %masked is wanted elsewhere as well
)");
}

TEST(ChainMatmuls, ConstantsAreReadOnce) {
  EXPECT_EQ(Chained(R"(
graph @g(%x: f32[B, 64]) {
  %w = constant @w : f32[64, 512]
  %h = dot %x, %w
  %top = reduce_max %h {axes = [1], keep_dims = 1}
  %below = sub %h, %top
  %v = constant @v : f32[512, 64]
  %y = dot %below, %v
  return %y
})"),
            R"(
refused %h -> %top in chain-matmuls: every block of rows would read the constant %w again
refused %below -> %y in chain-matmuls: every block of rows would read the constant %w again
)");
}

TEST(ChainMatmuls, RowsMustStayRows) {
  EXPECT_EQ(Chained(R"(
graph @g(%x: f32[B, S, 64], %k: f32[B, 64, S], %v: f32[B, S, 64]) {
  %h = dot %x, %k
  %sum = reduce_sum %h {axes = [1], keep_dims = 1}
  %p = div %h, %sum
  %y = dot %p, %v
  return %y
})"),
            R"(
refused %h -> %sum in chain-matmuls: the rows of %h are not computed in place
refused %p -> %y in chain-matmuls: the rows of %h are not computed in place
)");
  EXPECT_EQ(Chained(R"(
graph @g(%x: f32[B, S, 64], %k: f32[B, 64, S], %v: f32[B, S, 64]) {
  %h = dot %x, %k
  %sum = reduce_sum %h {axes = [2], keep_dims = 1}
  %p = div %h, %sum
  %y = dot %p, %v {transpose_lhs = 1}
  return %y
})"),
            R"(
refused %h -> %sum in chain-matmuls: the second matmul takes the rows as columns
refused %p -> %y in chain-matmuls: the second matmul takes the rows as columns
)");
}

}  // namespace
}  // namespace tailor
