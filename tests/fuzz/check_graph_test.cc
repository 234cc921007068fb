// The harness itself: it must detect devices with planted faults, and shrink graphs that fail.
#include "tests/fuzz/check_graph.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/fuzz/shrink_graph.h"
#include "tests/support/random_graph.h"
#include "tests/support/reference_evaluator.h"
#include "tests/support/reference_symbols.h"

namespace tailor {
namespace {

constexpr char kGraph[] = R"(
graph @g(%x: f32[A, B], %y: f32[C]) {
  %s = add %x, %y
  %e = tanh %s
  return %e
})";

// Most counts are refused in the middle of a run.
constexpr char kDataTells[] = R"(
graph @g(%x: f32[A], %n: i64[]) where A, N {
  %k = bind %n {extent = [N]}
  %s = slice %x {starts = [0], sizes = [N]}
  %e = neg %s
  return %e
})";

// What a fake device does to results; by default nothing.
struct Fault {
  std::function<void(int threads, std::vector<HostTensor>* outputs)> spoil = [](int, std::vector<HostTensor>*) {};
  bool accepts_everything = false;
};

// A device that evaluates with the reference itself.
class FakeProgram : public TestProgram {
 public:
  FakeProgram(const Graph& graph, const Fault& fault) : graph_(graph), fault_(fault) {}

  absl::StatusOr<std::vector<HostTensor>> Run(const std::vector<HostTensor>& inputs, int threads) override {
    std::vector<reference::Dims> dims;
    std::vector<reference::Array> arrays;
    for (const HostTensor& input : inputs) {
      dims.push_back(input.dims);
      arrays.push_back(reference::FromBytes(input.dtype, input.dims, input.bytes.data()));
    }
    const auto symbols = reference::BindInputs(graph_, dims);
    if (!symbols.ok()) return symbols.status();
    const auto result = reference::Evaluate(graph_, *symbols, arrays);
    if (!result.ok() && fault_.accepts_everything) return std::vector<HostTensor>{};
    if (!result.ok()) return result.status();
    std::vector<HostTensor> outputs;
    for (reference::Array array : result->outputs) {
      for (auto& element : array.elements) element.value = reference::RoundTo(array.dtype, element.value);
      outputs.push_back({array.dtype, array.dims, reference::ToBytes(array)});
    }
    fault_.spoil(threads, &outputs);
    return outputs;
  }

  absl::Status RunInto(const std::vector<HostTensor>& inputs, int threads, std::vector<HostTensor>* outputs) override {
    auto result = Run(inputs, threads);
    if (result.ok()) *outputs = *std::move(result);
    return result.status();
  }

 private:
  const Graph& graph_;
  const Fault& fault_;
};

class FakeDevice : public TestDevice {
 public:
  explicit FakeDevice(Fault fault) : fault_(std::move(fault)) {}
  std::string name() const override { return "fake"; }
  bool survives_fork() const override { return true; }
  absl::StatusOr<std::unique_ptr<TestProgram>> Compile(const Graph& graph) const override {
    return std::make_unique<FakeProgram>(graph, fault_);
  }

 private:
  const Fault fault_;
};

CheckResult CheckWith(const Fault& fault, const char* text = kGraph) {
  const auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return CheckGraphInChild(*graph, FakeDevice(fault), 1);
}

TEST(CheckGraph, ARightDevicePasses) {
  const CheckResult result = CheckWith({});
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.shapes, 5);
  EXPECT_GT(result.refusals, 0);
  EXPECT_GT(result.compared, 100);
  EXPECT_EQ(result.unknown, 0);
}

TEST(CheckGraph, AWrongElementIsFound) {
  const CheckResult result = CheckWith({[](int, std::vector<HostTensor>* outputs) {
    std::vector<std::byte>& bytes = (*outputs)[0].bytes;
    if (!bytes.empty()) bytes[bytes.size() - 3] ^= std::byte{0x20};  // 2^-10 of the last element
  }});
  EXPECT_EQ(result.Kind(), "value") << result.failure;
}

TEST(CheckGraph, WrongDimsAreFound) {
  const CheckResult result =
      CheckWith({[](int, std::vector<HostTensor>* outputs) { (*outputs)[0].dims.push_back(1); }});
  EXPECT_EQ(result.Kind(), "shape") << result.failure;
}

TEST(CheckGraph, BitsThatDependOnThreadsAreFound) {
  const CheckResult result = CheckWith({[](int threads, std::vector<HostTensor>* outputs) {
    if (threads > 1 && !(*outputs)[0].bytes.empty()) (*outputs)[0].bytes[0] ^= std::byte{1};
  }});
  EXPECT_EQ(result.Kind(), "threads") << result.failure;
}

TEST(CheckGraph, AWrongShapeThatIsAcceptedIsFound) {
  Fault fault;
  fault.accepts_everything = true;
  EXPECT_EQ(CheckWith(fault).Kind(), "accepted");
}

TEST(CheckGraph, ARefusalInTheMiddleOfARunIsRight) {
  const CheckResult result = CheckWith({}, kDataTells);
  EXPECT_EQ(result.failure, "");
  EXPECT_GT(result.refusals, 0);
  Fault fault;
  fault.accepts_everything = true;
  EXPECT_EQ(CheckWith(fault, kDataTells).Kind(), "accepted");
}

TEST(CheckGraph, AnExceptionIsAFailure) {
  const CheckResult result = CheckWith({[](int, std::vector<HostTensor>*) { throw std::runtime_error("planted"); }});
  EXPECT_EQ(result.failure, "exception: planted");
}

TEST(CheckGraph, ACrashIsAFailure) {
  EXPECT_EQ(CheckWith({[](int, std::vector<HostTensor>*) { std::abort(); }}).Kind(), "signal 6");
}

// A value that seems wrong whenever the graph has a certain op: what is left is that op and little else.
TEST(ShrinkGraph, LeavesWhatFails) {
  int shrunk = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    auto has_concat = [](const Graph& graph) {
      for (const Node& node : graph.nodes()) {
        if (node.op == OpKind::kConcat) return true;
      }
      return false;
    };
    const Graph graph = RandomGraph(seed);
    if (!has_concat(graph)) continue;
    const Graph smallest = ShrinkGraph(graph, 1000, has_concat);
    ASSERT_TRUE(has_concat(smallest));
    int computed = 0;
    for (const Node& node : smallest.nodes()) computed += !node.operands.empty();
    EXPECT_LE(computed, 2) << smallest.ToText();
    EXPECT_EQ(smallest.outputs().size(), 1u);
    ++shrunk;
  }
  EXPECT_GT(shrunk, 5);
}

TEST(ShrinkGraph, MakesRegionsSmall) {
  auto returns_scatter = [](const Graph& region) {
    return std::any_of(region.outputs().begin(), region.outputs().end(),
                       [&](const Output& output) { return region.node(output.value.node).op == OpKind::kScatter; });
  };
  auto fails = [&](const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      for (const Region& region : node.regions) {
        if (returns_scatter(*region.graph)) return true;
      }
    }
    return false;
  };
  int shrunk = 0;
  for (uint64_t seed = 0; seed < 200 && shrunk < 10; ++seed) {
    const Graph graph = RandomGraph(seed, {.control = true});
    if (!fails(graph)) continue;
    const Graph smallest = ShrinkGraph(graph, 3000, fails);
    ASSERT_TRUE(fails(smallest));
    EXPECT_EQ(smallest.outputs().size(), 1u);
    EXPECT_LT(smallest.ToText().size(), 1600u) << smallest.ToText();
    ++shrunk;
  }
  EXPECT_EQ(shrunk, 10);
}

}  // namespace
}  // namespace tailor
