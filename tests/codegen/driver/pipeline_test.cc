#include "codegen/driver/pipeline.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/text.h"
#include "gtest/gtest.h"

namespace tailor::driver {
namespace {

constexpr char kTwoKernels[] = R"(
graph @two(%x: f32[N, K], %w: f32[K, 64]) {
  %y = dot %x, %w
  %m = reduce_max %y {axes = [1], keep_dims = 1}
  %s = sub %y, %m
  return %s
})";

struct Progress {
  std::vector<std::string> phases;
  std::vector<double> emitted;
};

absl::StatusOr<Progress> CompileFor(const std::vector<std::string>& targets) {
  const auto graph = ParseGraph(kTwoKernels);
  if (!graph.ok()) return graph.status();
  Progress seen;
  CompileOptions options{.targets = targets};
  options.progress = [&](const char* phase, double done) {
    seen.phases.push_back(phase);
    if (seen.phases.back() == "emit") seen.emitted.push_back(done);
    return true;
  };
  const auto compiled = Compile(*graph, options);
  if (!compiled.ok()) return compiled.status();
  return seen;
}

// Each graph is lowered once for all CPUs and once for all GPUs: "verify-kernels" is lowering's last pass.
TEST(Pipeline, LowersOncePerBackend) {
  const std::vector<std::pair<std::vector<std::string>, int>> cases = {
      {{}, 1},
      {{"x86-64-v2", "x86-64-v3", "x86-64-v4+avx512bf16"}, 1},
      {{"simt"}, 1},
      {{"x86-64-v2", "x86-64-v4", "simt"}, 2},
  };
  for (const auto& [targets, lowerings] : cases) {
    const auto seen = CompileFor(targets);
    ASSERT_TRUE(seen.ok()) << seen.status();
    EXPECT_EQ(std::count(seen->phases.begin(), seen->phases.end(), "lower verify-kernels"), lowerings);
    EXPECT_EQ(seen->phases.back(), "done");
  }
}

TEST(Pipeline, ProgressNeverFalls) {
  const auto seen = CompileFor({"x86-64-v2", "x86-64-v3", "simt"});
  ASSERT_TRUE(seen.ok()) << seen.status();
  ASSERT_GT(seen->emitted.size(), 3u);
  EXPECT_TRUE(std::is_sorted(seen->emitted.begin(), seen->emitted.end()));
  EXPECT_EQ(seen->emitted.back(), 1);
}

// A concat of 560 tensors is one kernel, with more parameters than a GPU's kernel may have.
TEST(Pipeline, ATargetThatFailsIsNamed) {
  std::string inputs = "%x0: f32[N]", operands = "%x0";
  for (int i = 1; i < 560; ++i) {
    absl::StrAppend(&inputs, ", %x", i, ": f32[N]");
    absl::StrAppend(&operands, ", %x", i);
  }
  const auto graph =
      ParseGraph(absl::StrCat("graph @g(", inputs, ") {\n  %y = concat ", operands, " {axis = 0}\n  return %y\n}"));
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const std::string target : {"sm_80", "simt"}) {
    const absl::Status status = Compile(*graph, {.targets = {target}, .threads = 1}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(status.message()),
                testing::StartsWith(target + ": kernel g0_concat: its parameters take "));
  }
}

TEST(Pipeline, UnknownTargetsAreNamed) {
  EXPECT_THAT(std::string(CompileFor({"x86-64-v9"}).status().message()), testing::HasSubstr("x86-64-v9"));
  EXPECT_THAT(std::string(CompileFor({"x86-64-v3", "sm_42"}).status().message()), testing::HasSubstr("sm_42"));
}

}  // namespace
}  // namespace tailor::driver
