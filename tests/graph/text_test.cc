#include "graph/text.h"

#include <gtest/gtest.h>

namespace tailor {
namespace {

TEST(Text, PrintsWhatItReads) {
  const std::string text = R"(graph @mlp(%x: f32[B, S, 768]) where B in [1, 512] multiple_of 8 likely [8, 64], S in [0, 256], M, M == B*S {
  %w = constant @w : f32[3072, 768] hash 0123456789abcdef
  %d = dot %x, %w {transpose_rhs = 1} : f32[B, S, 3072]
  %half = constant 0.5 : f32[]
  %4 = mul %d, %half : f32[B, S, 3072] @d
  return "y" = %4
}
)";
  absl::StatusOr<Graph> graph = ParseGraph(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->ToText(), text);
}

}  // namespace
}  // namespace tailor
