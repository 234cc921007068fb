// Random graphs with symbolic dims, compiled once for each CPU level in turn and run at several shapes against the
// reference evaluator. A failure is made small and printed as text that regressions/ can keep.
//
//   TAILOR_TEST_ALL=1       2,000 graphs instead of a slice
//   TAILOR_FUZZ_SEED=<n>    only that graph, on every level
//   TAILOR_FUZZ_GRAPHS=<n>  so many graphs in the rotating slice, and that of attention
//   TAILOR_FUZZ_FIRST=<n>   where these begin; the rotating slice else at a number that changes daily
//   TAILOR_FUZZ_CONTROL=0   graphs without control flow
//   TAILOR_FUZZ_TEXT=<file> that graph alone, as a regression
//   TAILOR_REGRESSIONS=<dir> where the regressions are, instead of the source tree
//   TAILOR_TEST_DEVICE      cpu, unoptimized, without, cuda or emulated: tests/support/device.h
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/fuzz/check_graph.h"
#include "tests/fuzz/shrink_graph.h"
#include "tests/support/random_graph.h"

namespace tailor {
namespace {

constexpr uint64_t kFixedGraphs = 50;
constexpr uint64_t kRotatingGraphs = 50;
constexpr uint64_t kDonatedGraphs = 60;
constexpr uint64_t kAttentionGraphs = 20;
constexpr uint64_t kAllGraphs = 2000;
constexpr int kMostFailures = 5;
constexpr int kShrinkAttempts = 150;

uint64_t NumberOf(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

Graph GraphOf(uint64_t seed) { return RandomGraph(seed, {.control = NumberOf("TAILOR_FUZZ_CONTROL", 1) != 0}); }

bool TestAll() { return NumberOf("TAILOR_TEST_ALL", 0) != 0; }

class RandomGraphs : public testing::Test {
 protected:
  // Compiles once here, so that children find LLVM initialised.
  static void SetUpTestSuite() {
    const auto graph = ParseGraph("graph @warm(%x: f32[N]) { %y = neg %x\n return %y }");
    for (const auto& device : Devices()) {
      if (!device->survives_fork()) continue;
      const auto compiled = device->Compile(*graph);
      ASSERT_TRUE(compiled.ok()) << compiled.status();
    }
  }
  static const std::vector<std::unique_ptr<TestDevice>>& Devices() {
    static const auto* devices = new std::vector<std::unique_ptr<TestDevice>>(DevicesUnderTest());
    return *devices;
  }

  void CheckOne(const Graph& graph, const TestDevice& device, uint64_t seed) {
    const CheckResult result = CheckGraphInChild(graph, device, seed);
    shapes_ += result.shapes;
    refusals_ += result.refusals;
    compared_ += result.compared;
    unknown_ += result.unknown;
    vague_ += result.unknown > result.compared / 4;
    if (result.failure.empty()) return;
    const Graph smallest = ShrinkGraph(graph, kShrinkAttempts, [&](const Graph& candidate) {
      return CheckGraphInChild(candidate, device, seed).Kind() == result.Kind();
    });
    ADD_FAILURE() << "seed " << seed << " on " << device.name() << ": "
                  << CheckGraphInChild(smallest, device, seed).failure << "\n"
                  << smallest.ToText();
    ++failures_;
  }

  void CheckSeeds(uint64_t first, uint64_t count, Graph (*graph_of)(uint64_t) = GraphOf) {
    for (uint64_t seed = first; seed < first + count && failures_ < kMostFailures; ++seed) {
      CheckOne(graph_of(seed), *Devices()[seed % Devices().size()], seed);
    }
    std::cout << count << " graphs from seed " << first << ": " << shapes_ << " shapes, " << refusals_
              << " wrong ones refused, " << compared_ << " elements, " << unknown_ << " unknown\n";
    EXPECT_GE(shapes_, static_cast<int64_t>(2 * count));
    EXPECT_LT(vague_, static_cast<int64_t>(count / 2));  // of the graphs: one may have most of the elements
  }

  int failures_ = 0;
  int64_t shapes_ = 0, refusals_ = 0, compared_ = 0, unknown_ = 0;
  int64_t vague_ = 0;  // graphs of whose elements more than a quarter are unknown
};

TEST_F(RandomGraphs, FixedSlice) {
  if (const uint64_t seed = NumberOf("TAILOR_FUZZ_SEED", 0); seed != 0) {
    for (const auto& device : Devices()) CheckOne(GraphOf(seed), *device, seed);
    return;
  }
  CheckSeeds(1, TestAll() ? kAllGraphs / 2 : kFixedGraphs);
}

TEST_F(RandomGraphs, RotatingSlice) {
  if (NumberOf("TAILOR_FUZZ_SEED", 0) != 0) GTEST_SKIP() << "one seed was asked for";
  const uint64_t today = static_cast<uint64_t>(std::time(nullptr)) / 86400;
  CheckSeeds(NumberOf("TAILOR_FUZZ_FIRST", today * 100000),
             NumberOf("TAILOR_FUZZ_GRAPHS", TestAll() ? kAllGraphs / 2 : kRotatingGraphs));
}

TEST_F(RandomGraphs, EndInAttention) {
  if (NumberOf("TAILOR_FUZZ_SEED", 0) != 0) GTEST_SKIP() << "one seed was asked for";
  CheckSeeds(NumberOf("TAILOR_FUZZ_FIRST", 1),
             NumberOf("TAILOR_FUZZ_GRAPHS", TestAll() ? kAllGraphs / 2 : kAttentionGraphs),
             [](uint64_t seed) { return RandomGraph(seed, {.attention = true}); });
}

// Outputs, and what lies between, are written over the inputs wherever that is allowed.
TEST_F(RandomGraphs, DonatedInputs) {
  const auto device = DonatingCpuDevice();
  const uint64_t count = TestAll() ? kAllGraphs / 2 : kDonatedGraphs;
  for (uint64_t seed = 1; seed <= count && failures_ < kMostFailures; ++seed) CheckOne(GraphOf(seed), *device, seed);
  EXPECT_GE(shapes_, static_cast<int64_t>(2 * count));
}

// Graphs that failed once, on every level.
TEST_F(RandomGraphs, Regressions) {
  std::vector<std::filesystem::path> files;
  if (const char* text = std::getenv("TAILOR_FUZZ_TEXT")) {
    files.emplace_back(text);
  } else {
    const char* folder = std::getenv("TAILOR_REGRESSIONS");
    for (const auto& entry : std::filesystem::directory_iterator(folder != nullptr ? folder : TAILOR_REGRESSIONS))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    SCOPED_TRACE(file.filename().string());
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const auto graph = ParseGraph(text, SeededConstant);
    ASSERT_TRUE(graph.ok()) << graph.status();
    for (const auto& device : Devices()) {
      for (uint64_t seed : {1, 2, 5}) {
        const CheckResult result = CheckGraphInChild(*graph, *device, seed);
        EXPECT_EQ(result.failure, "") << device->name() << ", seed " << seed;
        EXPECT_GT(result.shapes, 0);
      }
    }
  }
}

}  // namespace
}  // namespace tailor
