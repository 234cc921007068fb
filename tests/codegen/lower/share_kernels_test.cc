// Mirrors codegen/lower/share_kernels.cc: which kernels become one, and what their launches pass.
#include "codegen/lower/share_kernels.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "codegen/lower/lower_graph.h"
#include "gmock/gmock.h"
#include "graph/text.h"
#include "gtest/gtest.h"

namespace tailor::lower {
namespace {

using ::testing::ElementsAre;

LoweredProgram Program(const std::string& text, bool share = true) {
  const auto parsed = ParseGraph(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  TargetTraits traits;
  traits.share_kernels = share;
  auto lowered = LowerGraph(*parsed, traits);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  return *std::move(lowered);
}

// "kernel(values of dim slots)" by launch.
std::vector<std::string> Launches(const LoweredProgram& program) {
  std::vector<std::string> launches;
  for (const host::Launch& launch : program.programs[0].launches) {
    std::vector<std::string> values;
    for (const DimExpr& dim : launch.dims) values.push_back(dim.constant() ? absl::StrCat(*dim.constant()) : "?");
    launches.push_back(absl::StrCat(launch.kernel, "(", absl::StrJoin(values, " "), ")"));
  }
  return launches;
}

// Layers: matmuls from the first number of channels to the next, and so on, each with a relu.
std::string Layers(const std::vector<int>& channels) {
  std::string text = absl::StrCat("graph @layers(%x: f32[N, ", channels[0], "]");
  for (size_t i = 1; i < channels.size(); ++i) {
    absl::StrAppend(&text, ", %w", i, ": f32[", channels[i - 1], ", ", channels[i], "]");
  }
  absl::StrAppend(&text, ") {\n  %zero = constant 0 : f32[]\n");
  std::string x = "%x";
  for (size_t i = 1; i < channels.size(); ++i) {
    absl::StrAppend(&text, "  %y", i, " = dot ", x, ", %w", i, "\n  %z", i, " = max %y", i, ", %zero\n");
    x = absl::StrCat("%z", i);
  }
  return absl::StrCat(text, "  return \"z\" = ", x, "\n}\n");
}

int Matmuls(const LoweredProgram& program) {
  int count = 0;
  for (const KernelPlan& kernel : program.kernels) count += kernel.IsContraction();
  return count;
}

TEST(ShareKernels, MatmulsOfOtherChannelsAreOneKernel) {
  EXPECT_EQ(Matmuls(Program(Layers({24, 40, 72, 88}), false)), 3);
  const LoweredProgram shared = Program(Layers({24, 40, 72, 88}));
  ASSERT_EQ(Matmuls(shared), 1);
  EXPECT_EQ("\n" + shared.kernels[1].Text(), R"(
contraction axes [a0: d0 parallel, a1: d1 parallel, a2: d2 contract]
  m a0, n a1, k a2, sum in stage 0
  d1: multiple of 8, at most 88
  d2: multiple of 8, at most 72
  in b0: f32[d0, d2]
  in b1: f32[d2, d1] panels16
  out b2: f32[d0, d1]
  local b3: f32[]
  stage over [a2]
    b3[] = reduce add in f32 mul(b0[a0, a2], b1[a2, a1])
  stage over []
    b2[a0, a1] = max(b3[], 0f00000000)
)");
  EXPECT_THAT(Launches(shared), ElementsAre("0()", "1(? 40 24)", "2()", "1(? 72 40)", "3()", "1(? 88 72)"));
}

TEST(ShareKernels, WhatSchedulesTreatInOtherWaysStaysApart) {
  EXPECT_EQ(Matmuls(Program(Layers({40, 72, 96}))), 2);      // panels of 72 columns are not whole, those of 96 are
  EXPECT_EQ(Matmuls(Program(Layers({1000, 24, 40}))), 2);    // a long K
  EXPECT_EQ(Matmuls(Program(Layers({24, 12, 24}))), 2);      // less than a vector
  EXPECT_EQ(Matmuls(Program(Layers({80, 17, 80, 20}))), 3);  // few columns, whose number has to be known
  EXPECT_EQ(Matmuls(Program(Layers({512, 1024, 512, 1024}))), 2);  // large weights; the first and the last are equal
}

// Two kernels over vectors, each the operations `body` on %x with literals %c and %d, which are different for each.
LoweredProgram TwoOf(const std::string& body, const std::vector<std::string>& literals) {
  std::string text = "graph @two(%x0: f32[N], %x1: f32[M]) {\n";
  for (int i : {0, 1}) {
    absl::StrAppend(&text, "  %c", i, " = constant ", literals[2 * i], " : f32[]\n  %d", i, " = constant ",
                    literals[2 * i + 1], " : f32[]\n", absl::StrReplaceAll(body, {{"#", absl::StrCat(i)}}));
  }
  return Program(text + "  return \"y\" = %y0, \"z\" = %y1\n}\n");
}

// What divides the number of planes decides how windows run, and nothing else.
TEST(ShareKernels, WhatDividesPlanesOnlyMattersToWindows) {
  const auto kernels = [](const char* reduce) {
    std::string text = "graph @g(%a: f32[N, 104, H, W], %b: f32[N, 208, H, W]) where H >= 3, W >= 3 {\n";
    for (const char* x : {"a", "b"}) absl::StrAppend(&text, absl::Substitute(reduce, x));
    return Program(text + "  return %ya, %yb\n}").kernels.size();
  };
  EXPECT_EQ(kernels("  %y$0 = reduce_mean %$0 {axes = [2, 3]}\n"), 1);
  EXPECT_EQ(kernels("  %w$0 = window %$0 {axes = [2, 3], sizes = [3, 3]}\n"
                    "  %y$0 = reduce_max %w$0 {axes = [4, 5]}\n"),
            2);
}

TEST(ShareKernels, LiteralsOfArithmeticAreParameters) {
  const LoweredProgram program = TwoOf("  %s# = div %x#, %c#\n  %y# = mul %s#, %d#\n", {"3", "5", "7", "11"});
  ASSERT_EQ(program.kernels.size(), 1u);
  EXPECT_EQ("\n" + program.kernels[0].Text(), R"(
kernel axes [a0: d0 parallel]
  in b0: f32[d0]
  out b1: f32[d0]
  stage over []
    b1[a0] = mul(div(b0[a0], param(d1)), param(d2))
)");
  // 3, 5, 7 and 11 as the bits of f32.
  EXPECT_THAT(Launches(program), ElementsAre("0(? 1077936128 1084227584)", "0(? 1088421888 1093664768)"));
}

TEST(ShareKernels, EqualLiteralsStayLiterals) {
  const LoweredProgram program = TwoOf("  %s# = add %x#, %c#\n  %y# = mul %s#, %d#\n", {"-3", "5", "-3", "6"});
  EXPECT_THAT(Launches(program), ElementsAre("0(? 1084227584)", "0(? 1086324736)"));
}

TEST(ShareKernels, ALiteralMayBeZero) {
  const LoweredProgram program = TwoOf("  %s# = sub %x#, %c#\n  %y# = mul %s#, %d#\n", {"-3", "0", "-3", "2"});
  EXPECT_THAT(Launches(program), ElementsAre("0(? 0)", "0(? 1073741824)"));
}

TEST(ShareKernels, LiteralsThatEmittersRecogniseStayApart) {
  const auto kernels = [](const std::string& body, const std::vector<std::string>& literals) {
    return TwoOf(body, literals).kernels.size();
  };
  EXPECT_EQ(kernels("  %s# = div %x#, %c#\n  %y# = mul %s#, %d#\n", {"3", "5", "4", "5"}), 2u);  // the inverse of 4
  EXPECT_EQ(kernels("  %s# = max %x#, %c#\n  %y# = mul %s#, %d#\n", {"3", "5", "4", "5"}), 2u);
  const std::string quantized = "  %r# = round %x#\n  %s# = add %r#, %c#\n  %y# = mul %s#, %d#\n";
  EXPECT_EQ(kernels(quantized, {"3", "5", "4", "5"}), 1u);
  EXPECT_EQ(kernels(quantized, {"3", "5", "3.5", "5"}), 2u);    // no zero point
  EXPECT_EQ(kernels(quantized, {"3", "5", "70000", "5"}), 2u);  // sums would not be exact
  EXPECT_EQ(kernels("  %s# = mul %x#, %c#\n  %y# = max %s#, %c#\n", {"3", "5", "7", "5"}), 2u);
  const std::string gelu = R"(
  %r# = constant 0.70710678 : f32[]
  %o# = constant 1 : f32[]
  %z# = mul %x#, %r#
  %e# = erf %z#
  %g# = add %e#, %o#
  %h# = mul %x#, %g#
  %v# = mul %h#, %c#
  %y# = mul %v#, %d#
)";
  EXPECT_EQ(kernels(gelu, {"0.5", "3", "0.6", "3"}), 2u);
  EXPECT_EQ(kernels(gelu, {"0.5", "3", "0.5", "5"}), 1u);  // only what comes behind differs
}

TEST(ShareKernels, IntegerZeroPointsAreParameters) {
  std::string text = "graph @two(%x0: i8[N], %x1: i8[M]) {\n";
  for (int i : {0, 1}) {
    absl::StrAppend(
        &text, absl::StrReplaceAll(R"(
  %z# = constant Z : i32[]
  %h# = constant H : i16[]
  %w# = cast %x# {dtype = i32}
  %d# = sub %w#, %z#
  %v# = cast %x# {dtype = i16}
  %e# = sub %v#, %h#
  %f# = cast %e# {dtype = i32}
  %y# = add %d#, %f#
)",
                                   {{"#", absl::StrCat(i)}, {"Z", i == 0 ? "-3" : "4"}, {"H", i == 0 ? "1" : "-2"}}));
  }
  const LoweredProgram program = Program(text + "  return \"y\" = %y0, \"z\" = %y1\n}\n");
  ASSERT_EQ(program.kernels.size(), 1u);
  EXPECT_EQ("\n" + program.kernels[0].Text(), R"(
kernel axes [a0: d0 parallel]
  in b0: i8[d0]
  out b1: i32[d0]
  stage over []
    e0 = b0[a0]
    b1[a0] = add(sub(cast<i32>(e0), param<i32>(d1)), cast<i32>(sub(cast<i16>(e0), param<i16>(d2))))
)");
  EXPECT_THAT(Launches(program), ElementsAre("0(? 4294967293 1)", "0(? 4 65534)"));
}

// Attention of two heads, whose scores are scaled differently.
TEST(ShareKernels, LiteralsOfChainsAreParameters) {
  std::string text =
      "graph @two(%q0: f32[N, 64], %k0: f32[64, N], %v0: f32[N, 64], %q1: f32[M, 64], %k1: f32[64, M], "
      "%v1: f32[M, 64]) {\n";
  for (int i : {0, 1}) {
    absl::StrAppend(&text, absl::StrReplaceAll(R"(
  %c# = constant C : f32[]
  %s# = dot %q#, %k#
  %t# = mul %s#, %c#
  %m# = reduce_max %t# {axes = [1], keep_dims = 1}
  %d# = sub %t#, %m#
  %e# = exp %d#
  %n# = reduce_sum %e# {axes = [1], keep_dims = 1}
  %p# = div %e#, %n#
  %y# = dot %p#, %v#
)",
                                               {{"#", absl::StrCat(i)}, {"C", i == 0 ? "0.3" : "0.7"}}));
  }
  const LoweredProgram program = Program(text + "  return \"y\" = %y0, \"z\" = %y1\n}\n");
  const auto chains = std::count_if(program.kernels.begin(), program.kernels.end(),
                                    [](const KernelPlan& kernel) { return kernel.IsChain(); });
  EXPECT_EQ(chains, 1);
  for (const host::Launch& launch : program.programs[0].launches) {
    EXPECT_EQ(launch.dims.size(), program.kernels[launch.kernel].dims.size()) << launch.name;
  }
}

// With 300 as a slot, the second kernel has the text of the first.
TEST(ShareKernels, ASlotIsNoConstantOfAnotherKernel) {
  const LoweredProgram program = Program(R"(
graph @two(%a: f32[N, M, 8], %b: f32[N, 300, 8]) {
  %y = reduce_max %a {axes = [2]}
  %z = reduce_max %b {axes = [2]}
  return "y" = %y, "z" = %z
})");
  EXPECT_THAT(Launches(program), ElementsAre("0(? ? ?)", "1(? ?)"));
  for (const host::Launch& launch : program.programs[0].launches) {
    EXPECT_EQ(launch.dims.size(), program.kernels[launch.kernel].dims.size()) << launch.name;
  }
}

}  // namespace
}  // namespace tailor::lower
