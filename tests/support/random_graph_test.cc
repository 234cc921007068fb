// Random graphs through analysis and rewrites, without code generation.
#include "tests/support/random_graph.h"

#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "analysis/shape_facts.h"
#include "fusion/rewrites.h"
#include "graph/text.h"
#include "graph/verifier.h"
#include "gtest/gtest.h"
#include "tests/support/random_graph_inputs.h"
#include "tests/support/reference_evaluator.h"
#include "tests/support/reference_shapes.h"

namespace tailor {
namespace {

constexpr uint64_t kGraphs = 300;
constexpr RandomGraphOptions kWithControl = {.control = true};
constexpr ShapeKind kKinds[] = {ShapeKind::kSmall, ShapeKind::kWithOne, ShapeKind::kWithZero, ShapeKind::kWide};

class RandomGraphs : public testing::TestWithParam<RandomGraphOptions> {};

INSTANTIATE_TEST_SUITE_P(WithoutAndWithControl, RandomGraphs, testing::Values(RandomGraphOptions{}, kWithControl),
                         [](const auto& info) { return info.param.control ? "WithControl" : "WithoutControl"; });

TEST_P(RandomGraphs, AreSoundAndRoundTripThroughText) {
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    const Graph graph = RandomGraph(seed, GetParam());
    ASSERT_EQ(VerifyGraph(graph), absl::OkStatus()) << "seed " << seed << "\n" << graph.ToText();
    const auto parsed = ParseGraph(graph.ToText(), SeededConstant);
    ASSERT_TRUE(parsed.ok()) << parsed.status() << "\nseed " << seed << "\n" << graph.ToText();
    ASSERT_EQ(parsed->ToText(), graph.ToText()) << "seed " << seed;
    ASSERT_EQ(RandomGraph(seed, GetParam()).ToText(), graph.ToText()) << "seed " << seed;
  }
}

void CountOps(const Graph& graph, std::map<OpKind, int>* ops, std::set<int>* ranks) {
  for (const Node& node : graph.nodes()) {
    ++(*ops)[node.op];
    ranks->insert(node.results[0].rank());
    for (const Region& region : node.regions) CountOps(*region.graph, ops, ranks);
  }
}

TEST_P(RandomGraphs, ReachEveryOpAndRank) {
  std::map<OpKind, int> ops;
  std::set<int> ranks;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) CountOps(RandomGraph(seed, GetParam()), &ops, &ranks);
  for (const OpInfo& info : AllOps()) {
    const bool control = info.fusion == FusionClass::kControl;
    // Custom operators are computed by the host: the reference evaluator has none.
    const bool drawn = info.kind != OpKind::kContinuation && info.kind != OpKind::kCustom;
    if (!control || (GetParam().control && drawn)) {
      EXPECT_GT(ops[info.kind], 3) << info.text;
    } else {
      EXPECT_EQ(ops[info.kind], 0) << info.text;
    }
  }
  EXPECT_EQ(*ranks.begin(), 0);
  EXPECT_GE(ranks.size(), 5u);
}

// Graphs with control flow mostly run to their end, and the reference can mostly tell what they give.
TEST(RandomGraph, ControlFlowIsDecided) {
  int runs = 0, refused = 0, undecided = 0, late = 0;
  int64_t known = 0, unknown = 0;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    const Graph graph = RandomGraph(seed, kWithControl);
    std::mt19937_64 random(seed);
    const auto symbols = DrawSymbols(graph, kKinds[seed % std::size(kKinds)], random);
    if (!symbols) continue;
    const auto result = reference::Evaluate(graph, *symbols, DrawInputs(graph, *symbols, seed, false));
    ++runs;
    const bool may_fail = absl::IsInvalidArgument(result.status()) || absl::IsFailedPrecondition(result.status()) ||
                          absl::IsResourceExhausted(result.status());
    refused += may_fail;
    if (may_fail) continue;
    ASSERT_TRUE(result.ok()) << result.status() << "\n" << graph.ToText();
    undecided += !result->undecided.empty();
    const auto before = reference::GraphDims(graph, *symbols);
    for (const Output& output : graph.outputs()) late += !before->contains(output.value);
    for (const reference::Array& output : result->outputs) {
      for (const reference::Element& element : output.elements) ++(element.known() ? known : unknown);
    }
  }
  EXPECT_GT(runs, static_cast<int>(kGraphs * 9 / 10));
  EXPECT_LT(refused, runs / 10);
  EXPECT_LT(undecided, runs / 50);
  EXPECT_GT(late, runs / 10);  // outputs whose dims only the run tells
  EXPECT_LT(unknown, known / 10);
}

// Facts prove only what holds: canonical dims are the concrete ones, ranges contain them, divisors divide them.
void CheckFacts(const Graph& graph, const ShapeFacts& facts, const std::vector<int64_t>& symbols) {
  const auto dims = reference::GraphDims(graph, symbols);
  ASSERT_TRUE(dims.ok()) << dims.status();
  for (const auto& [value, dim_sizes] : *dims) {
    const Shape& shape = graph.type(value).shape;
    for (size_t d = 0; d < shape.size(); ++d) {
      const int64_t dim_size = dim_sizes[d];
      SCOPED_TRACE(testing::Message() << "dim " << d << " of " << graph.NameOf(value));
      EXPECT_EQ(*reference::EvaluateDim(shape[d], symbols), dim_size);
      EXPECT_EQ(*reference::EvaluateDim(facts.Canonical(shape[d]), symbols), dim_size);
      EXPECT_EQ(dim_size % facts.LargestKnownDivisor(shape[d]), 0);
      EXPECT_GE(dim_size, facts.RangeOf(shape[d]).min);
      EXPECT_LE(dim_size, facts.RangeOf(shape[d]).max);
    }
  }
}

// Whether an element of a rewritten graph can be that of the original.
bool Agree(const reference::Element& a, const reference::Element& b) {
  if (!a.known() || !b.known() || a.value == b.value) return true;
  if (std::isnan(a.value) || std::isnan(b.value)) return std::isnan(a.value) && std::isnan(b.value);
  return std::fabs(a.value - b.value) <= a.error + b.error;
}

void CheckRewritten(const Graph& graph, const Graph& rewritten, const std::vector<int64_t>& symbols, uint64_t seed) {
  const auto inputs = DrawInputs(graph, symbols, seed, seed % 4 == 0);
  const auto before = reference::Evaluate(graph, symbols, inputs);
  const auto after = reference::Evaluate(rewritten, symbols, inputs);
  if (absl::IsResourceExhausted(before.status()) || absl::IsResourceExhausted(after.status())) return;  // too much work
  ASSERT_TRUE(before.ok()) << before.status();
  ASSERT_TRUE(after.ok()) << after.status();
  for (size_t o = 0; o < before->outputs.size(); ++o) {
    const reference::Array &x = before->outputs[o], &y = after->outputs[o];
    ASSERT_EQ(x.dims, y.dims) << "output " << o;
    for (size_t i = 0; i < x.elements.size(); ++i) {
      ASSERT_TRUE(Agree(x.elements[i], y.elements[i]))
          << "output " << o << " element " << i << ": " << x.elements[i].value << " became " << y.elements[i].value;
    }
  }
}

TEST(RandomGraph, FactsAndRewritesHoldAtConcreteShapes) {
  int refused = 0, shapes = 0;
  const uint64_t graphs = std::getenv("TAILOR_TEST_ALL") != nullptr ? 10 * kGraphs : kGraphs;
  for (uint64_t seed = 0; seed < graphs; ++seed) {
    const Graph graph = RandomGraph(seed);
    SCOPED_TRACE(testing::Message() << "seed " << seed << "\n" << graph.ToText());
    const auto facts = ShapeFacts::Collect(graph);
    absl::Status refusal = facts.status();  // of a graph that contradicts itself, and so has no shapes
    std::optional<Graph> rewritten;
    if (facts.ok()) {
      auto result = Rewrite(graph, *facts);
      refusal = result.status();
      if (result.ok()) rewritten = *std::move(result);
    }
    refused += !refusal.ok();
    std::mt19937_64 random(seed);
    for (ShapeKind kind : kKinds) {
      const auto symbols = DrawSymbols(graph, kind, random);
      if (!symbols) continue;
      ++shapes;
      ASSERT_TRUE(refusal.ok()) << refusal;
      CheckFacts(graph, *facts, *symbols);
      CheckRewritten(graph, *rewritten, *symbols, seed);
      if (HasFailure()) return;
    }
  }
  EXPECT_LT(refused, static_cast<int>(graphs / 20));
  EXPECT_GT(shapes, static_cast<int>(2 * graphs));
  RecordProperty("shapes", shapes);
}

}  // namespace
}  // namespace tailor
