// Random graphs through all rewrites and the fusion pipeline, without a code generator: nothing may be refused, and
// every pass must have changed some of them.
//
//   TAILOR_TEST_ALL=1         10,000 graphs instead of a slice
//   TAILOR_FUZZ_FIRST=<n>     where they begin
//   TAILOR_GRAPH_TEXTS=<dir>  graph texts (models'), whose statistics are printed beside those of random graphs
//   TAILOR_CASES=<file>       the ONNX suite as export_cases.py writes it, unpacked: its graphs go the same way
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "fusion/pass_observer.h"
#include "fusion/matmul_merges.h"
#include "fusion/split_at_data_dependent_dims.h"
#include "fusion/target_traits.h"
#include "graph/text.h"
#include "tests/fuzz/graph_statistics.h"
#include "tests/support/random_graph.h"

namespace tailor {
namespace {

constexpr uint64_t kSlice = 600, kAll = 10000;

std::string Contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Counts the lines that a pass leaves and did not find: nodes, or groups and refusals.
class Counts : public PassObserver {
 public:
  void Rewritten(absl::string_view pass, const Graph& before, const Graph& after) override {
    const std::string was = before.ToText(), is = after.ToText();
    Continue(pass, was, is);
    Count(absl::StrCat("rewrite ", pass), Lines(before), Lines(after), was != is);
  }
  void Fused(absl::string_view pass, const Graph& graph, const FusionPlan& before, const FusionPlan& after) override {
    const std::string was = before.ToText(graph), is = after.ToText(graph);
    Continue(pass, was, is);
    Count(absl::StrCat("fusion ", pass), absl::StrSplit(was, '\n'), absl::StrSplit(is, '\n'), was != is);
  }
  void Happened(const std::string& what, int64_t times) { Note(what, times); }

  // No step is hidden between two passes: each begins with the text that the one before left. Empty: any text.
  void Begin(std::string text) { text_ = std::move(text); }
  void Continue(absl::string_view pass, const std::string& before, std::string after) {
    if (!text_.empty()) EXPECT_EQ(before, text_) << "before " << pass;
    text_ = std::move(after);
  }

  std::string Table() const {
    std::string table = "pass                              graphs   changes\n";
    for (const auto& [name, count] : counts_) {
      absl::StrAppendFormat(&table, "%-32s %7d %9d\n", name, count.graphs, count.changes);
    }
    return table;
  }
  std::vector<std::string> Unreached() const {
    std::vector<std::string> names;
    for (const auto& [name, count] : counts_) {
      if (count.changes == 0) names.push_back(name);
    }
    return names;
  }

 private:
  struct Count_ {
    int64_t graphs = 0, changes = 0;
  };

  // Each node by its op and types: numbers of other nodes move as nodes come and go.
  static std::vector<std::string> Lines(const Graph& graph) {
    std::vector<std::string> lines;
    for (const Node& node : graph.nodes()) {
      std::string line(InfoOf(node.op).text);
      for (Value v : node.operands) absl::StrAppend(&line, " ", graph.TypeText(graph.type(v)));
      for (const TensorType& type : node.results) absl::StrAppend(&line, " : ", graph.TypeText(type));
      lines.push_back(std::move(line));
    }
    return lines;
  }
  void Count(const std::string& name, const std::vector<std::string>& before, const std::vector<std::string>& after,
             bool changed) {
    std::map<std::string, int64_t> extra;
    for (const std::string& line : after) ++extra[line];
    for (const std::string& line : before) --extra[line];
    int64_t added = 0, removed = 0;
    for (const auto& [line, count] : extra) (count > 0 ? added : removed) += std::abs(count);
    Note(name, !changed ? 0 : std::max<int64_t>({added, removed, 1}));
  }
  void Note(const std::string& name, int64_t changes) {
    Count_& count = counts_[name];
    count.graphs += changes != 0;
    count.changes += changes;
  }

  std::map<std::string, Count_> counts_;
  std::string text_;
};

// What the one pass that joins matmuls did, by kind: its steps are counted where it is about to run.
class CountsWithMerges : public Counts {
 public:
  explicit CountsWithMerges(const ShapeFacts*& facts) : facts_(facts) {}
  void Rewritten(absl::string_view pass, const Graph& before, const Graph& after) override {
    Counts::Rewritten(pass, before, after);
    if (pass != "merge-matmuls") return;
    const MatmulMerges merges = FindMatmulMerges(before, *facts_);
    int64_t steps = 0, lacking = 0;
    for (const MatmulMerge& merge : merges.merges) {
      for (const MatmulMerge::Step& step : merge.steps) {
        ++steps;
        for (NodeId id : step.nodes) lacking += id < 0;
      }
    }
    Happened("matmuls: joined", static_cast<int64_t>(merges.merges.size()));
    Happened("matmuls: refused", static_cast<int64_t>(merges.refusals.size()));
    Happened("matmuls: steps joined", steps);
    Happened("matmuls: neutral operands", lacking);
  }

 private:
  const ShapeFacts*& facts_;
};

std::vector<TargetTraits> AllTraits() {
  TargetTraits gpu{.vector_bytes = 4, .regional_bytes = 48 << 10, .row_blocks = false};
  gpu.rows_in_place = false;
  gpu.free_index_arithmetic = true;
  gpu.max_attention_row = 4096;
  TargetTraits small{.vector_bytes = 16, .vector_registers = 16, .fused_multiply_add = false};
  return {TargetTraits{}, gpu, small};
}

class Passes : public testing::Test {
 protected:
  // The graph's regions go the same way.
  absl::Status Run(const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      for (const Region& region : node.regions) {
        if (absl::Status status = Run(*region.graph); !status.ok()) return status;
      }
    }
    const auto stages = SplitAtDataDependentDims(graph);
    if (!stages.ok()) return stages.status();
    counts_.Happened("split-at-data-dependent-dims", stages->size() > 1);
    for (const Graph& stage : *stages) {
      if (absl::Status status = RunStage(stage); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status RunStage(const Graph& stage) {
    const auto facts = ShapeFacts::Collect(stage);
    if (!facts.ok()) return facts.status();
    facts_ = &*facts;
    counts_.Begin(stage.ToText());
    const auto rewritten = RewriteObserved(stage, *facts, &counts_);
    if (!rewritten.ok()) return rewritten.status();
    counts_.Continue("fusion", rewritten->ToText(), "");
    for (const TargetTraits& traits : AllTraits()) {
      const auto plan = FuseObserved(*rewritten, *facts, traits, &counts_);
      if (!plan.ok()) return plan.status();
      counts_.Continue("lowering", plan->ToText(*rewritten), "");
    }
    return absl::OkStatus();
  }

  const ShapeFacts* facts_ = nullptr;
  CountsWithMerges counts_{facts_};
};

// TAILOR_GRAPH_DUMP=<folder>: their texts are written there.
TEST_F(Passes, AreAllReachedByRandomGraphs) {
  const uint64_t graphs = std::getenv("TAILOR_TEST_ALL") != nullptr ? kAll : kSlice;
  const char* text = std::getenv("TAILOR_FUZZ_FIRST");
  const uint64_t first = text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
  uint64_t contradictory = 0;
  for (uint64_t seed = first; seed < first + graphs; ++seed) {
    const Graph graph = RandomGraph(seed, {.control = seed % 3 == 0, .attention = seed % 5 == 0});
    if (const char* folder = std::getenv("TAILOR_GRAPH_DUMP")) {
      std::ofstream(std::filesystem::path(folder) / absl::StrCat("random_", seed, ".txt")) << graph.ToText();
    }
    const absl::Status status = Run(graph);
    ASSERT_FALSE(absl::IsInternal(status)) << "seed " << seed << ": " << status << "\n" << graph.ToText();
    contradictory += !status.ok();
  }
  std::cout << counts_.Table() << contradictory << " of " << graphs << " graphs contradict themselves\n";
  EXPECT_LT(contradictory, graphs / 20);
  EXPECT_EQ(counts_.Unreached(), std::vector<std::string>());
}

// The graphs of the file that ./dev writes as build/onnx.cases, unpacked; constants that it keeps apart are zeros.
TEST_F(Passes, TakeTheOnnxSuite) {
  const char* file = std::getenv("TAILOR_CASES");
  if (file == nullptr) GTEST_SKIP() << "TAILOR_CASES names no file";
  const std::string bytes = Contents(file);
  int graphs = 0;
  std::string name;
  for (size_t at = 0; at < bytes.size();) {
    const size_t end = std::min(bytes.find('\n', at), bytes.size());
    const std::vector<std::string> words = absl::StrSplit(bytes.substr(at, end - at), ' ');
    at = end + 1;
    if (words[0] == "case") name = words[1];
    if (words[0] == "case" || words[0] == "end") continue;
    const size_t size = std::strtoull(words.back().c_str(), nullptr, 10);
    if (words[0] == "graph") {
      const auto graph = ParseGraph(bytes.substr(at, size));
      ASSERT_TRUE(graph.ok()) << name << ": " << graph.status();
      const absl::Status status = Run(*graph);
      ASSERT_TRUE(status.ok()) << name << ": " << status;
      ++graphs;
    }
    at += size + 1;
  }
  std::cout << counts_.Table();
  EXPECT_GT(graphs, 500);
}

TEST(RandomGraphs, ShareValuesAsModelsDo) {
  std::cout << GraphStatistics::Header();
  if (const char* folder = std::getenv("TAILOR_GRAPH_TEXTS")) {
    std::set<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) files.insert(entry.path());
    GraphStatistics all;
    for (const auto& file : files) {
      const auto graph = ParseGraph(Contents(file));
      ASSERT_TRUE(graph.ok()) << file << ": " << graph.status();
      GraphStatistics one;
      one.Add(*graph);
      all.Add(*graph);
      std::cout << one.Row(file.stem().string());
    }
    std::cout << all.Row("all models");
  }
  GraphStatistics random;
  for (uint64_t seed = 1; seed <= kSlice; ++seed) random.Add(RandomGraph(seed, {.control = seed % 3 == 0}));
  std::cout << random.Row("random graphs");
  // Lower bounds near the shares of models: docs/decisions/random-graphs-look-like-models.md.
  EXPECT_GT(random.sharing_matmuls, random.matmuls / 3);
  EXPECT_GT(random.shared_values, random.values / 9);
  EXPECT_GT(random.seen_before, random.nodes / 8);
  EXPECT_GT(random.links, random.nodes * 2 / 5);
  EXPECT_GT(random.shared_constants, 0);
  EXPECT_GT(random.outputs, random.graphs);
}

}  // namespace
}  // namespace tailor
