// Functions that kernels of a target share.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/driver/compile.h"
#include "graph/text.h"
#include "gtest/gtest.h"

namespace tailor::backend {
namespace {

// Attention with heads of 20 and of 24 columns: the matmuls differ, the softmax between them is one function.
TEST(SharedFunctions, ChainsShareTheirRows) {
  const std::string attention = R"(
  %s# = dot %q#, %k# {transpose_rhs = 1}
  %top# = reduce_max %s# {axes = [3], keep_dims = 1}
  %below# = sub %s#, %top#
  %e# = exp %below#
  %sum# = reduce_sum %e# {axes = [3], keep_dims = 1}
  %p# = div %e#, %sum#
  %y# = dot %p#, %v#
)";
  const auto graph = ParseGraph(absl::StrCat(
      "graph @two(%q1: f32[B, 3, S, 20], %k1: f32[B, 3, T, 20], %v1: f32[B, 3, T, 20], %q2: f32[B, 3, S, 24], "
      "%k2: f32[B, 3, T, 24], %v2: f32[B, 3, T, 24]) {",
      absl::StrReplaceAll(attention, {{"#", "1"}}), absl::StrReplaceAll(attention, {{"#", "2"}}),
      "  return \"y1\" = %y1, \"y2\" = %y2\n}"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const bool optimize : {true, false}) {
    const auto compiled = driver::Compile(*graph, {.targets = {"x86-64-v3"}, .optimize = optimize});
    ASSERT_TRUE(compiled.ok()) << compiled.status();
    const Variant& variant = compiled->program.variants[0];
    int chains = 0, rows = 0;
    for (const ProgramLaunch& launch : variant.launches) chains += absl::StrContains(launch.kernel, "dot+");
    for (const CodeSymbol& symbol : variant.code_symbols) rows += symbol.kernel == CodeSymbol::kRowsOfChains;
    EXPECT_EQ(chains, 2);
    EXPECT_EQ(rows, 1);
  }
}

}  // namespace
}  // namespace tailor::backend
