#include "codegen/cuda/lighten_schedule.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/compile.h"
#include "codegen/cuda/assembler.h"
#include "gmock/gmock.h"
#include "graph/text.h"
#include "gtest/gtest.h"

namespace tailor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Shape(const CudaVersion& version) {
  return absl::StrCat(version.ShapeText(), ", threads ", version.threads, ", resident ", version.resident_blocks);
}

std::vector<std::string> Steps(CudaVersion version) {
  std::vector<std::string> steps;
  while (Lighten(version)) steps.push_back(Shape(version));
  return steps;
}

TEST(Lighten, RegistersFirstThenLanes) {
  EXPECT_THAT(Steps({.shape = CudaVersion::Shape::kRows,
                     .threads = 256,
                     .resident_blocks = 4,
                     .row_threads = 256,
                     .lanes = 4,
                     .lane_axis = 1}),
              ElementsAre("256 threads per row, lanes 4, threads 256, resident 2",
                          "256 threads per row, lanes 4, threads 256, resident 1",
                          "256 threads per row, lanes 2, threads 256, resident 1",
                          "256 threads per row, threads 256, resident 1"));
  EXPECT_THAT(Steps({.shape = CudaVersion::Shape::kRows, .threads = 512, .row_threads = 512}),
              ElementsAre("256 threads per row, threads 256, resident 0"));
  EXPECT_THAT(Steps({.threads = 256, .lanes = 2, .lane_axis = 0}),
              ElementsAre("thread per element, threads 256, resident 0"));
}

TEST(Lighten, OthersHaveOneForm) {
  for (auto shape : {CudaVersion::Shape::kTransposed, CudaVersion::Shape::kProductTile}) {
    CudaVersion version{.shape = shape, .threads = 512};
    EXPECT_FALSE(Lighten(version));
    EXPECT_EQ(version.threads, 512);
  }
}

// Sixteen sums of vectors of eight are more than the registers that a thread has beside a second block's.
TEST(Lighten, AKernelThatSpillsIsMadeAgainAndTheProgramSaysSo) {
  if (!FindAssembler().ok()) GTEST_SKIP() << FindAssembler().status().message();
  std::string text = "graph @heavy(%x: f16[2, 65536]) {\n";
  std::vector<std::string> sums;
  for (int i = 0; i < 16; ++i) {
    absl::StrAppend(&text, "%k", i, " = constant ", 0.5 + 0.125 * i, " : f16[]\n");
    absl::StrAppend(&text, "%d", i, " = sub %x, %k", i, "\n");
    absl::StrAppend(&text, "%q", i, " = mul %d", i, ", %d", i, "\n");
    absl::StrAppend(&text, "%s", i, " = reduce_sum %q", i, " {axes = [1]}\n");
    sums.push_back(absl::StrCat("%s", i));
  }
  absl::StrAppend(&text, "return ", absl::StrJoin(sums, ", "), "\n}");
  const auto graph = ParseGraph(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const auto compiled = Compile(*graph, {.targets = {"sm_80"}, .threads = 1});
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  ASSERT_EQ(compiled->program.variants.size(), 1u);
  const ProgramLaunch& launch = compiled->program.variants[0].launches.at(0);
  ASSERT_FALSE(launch.dropped.empty());
  EXPECT_THAT(launch.dropped[0],
              HasSubstr("256 threads per part of a row, lanes 8, threads 256 (its registers spill)"));
}

}  // namespace
}  // namespace tailor
