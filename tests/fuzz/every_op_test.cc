// Every op of the table with every element type that its row admits, on every CPU level.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/fuzz/check_graph.h"
#include "tests/support/every_op.h"

namespace tailor {
namespace {

constexpr uint64_t kSeed = 2;  // one of its shapes meets infinities and NaN

// Floats on every level; integers on one level each in turn, unless all is to be tested.
TEST(EveryOp, AgreesWithTheReference) {
  const auto devices = DevicesUnderTest();
  for (DType dtype : kEveryDType) {
    const Graph graph = EveryOp(dtype);
    EXPECT_GE(graph.outputs().size(), 28u);
    for (size_t d = 0; d < devices.size(); ++d) {
      const bool in_turn = d == static_cast<size_t>(dtype) % devices.size();
      if (!IsFloat(dtype) && !in_turn && std::getenv("TAILOR_TEST_ALL") == nullptr) continue;
      const CheckResult result = CheckGraphInChild(graph, *devices[d], kSeed);
      EXPECT_EQ(result.failure, "") << NameOf(dtype) << " on " << devices[d]->name();
      EXPECT_GE(result.shapes, 3);
      EXPECT_LT(result.unknown, result.compared / 5);
    }
  }
}

TEST(EveryOp, LoopsAndBranchesAgreeWithTheReference) {
  const auto graph = ParseGraph(R"(
graph @g(%x: f32[N], %go: bool[]) {
  %rest, %again = while(%x, %go) {
    region(%a: f32[M], %c: bool[]) { return %c }
    region(%a: f32[M], %c: bool[]) { %n = not %c
      %e = exp %a
      return %e, %n }
  }
  %y = if(%go, %rest) {
    region(%a: f32[M]) { return %a }
    region(%a: f32[M]) { %n = neg %a
      return %n }
  }
  return %y
})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const auto& device : DevicesUnderTest()) {
    for (uint64_t seed : {1, 2}) {
      const CheckResult result = CheckGraphInChild(*graph, *device, seed);
      EXPECT_EQ(result.failure, "") << device->name();
      EXPECT_GE(result.shapes, 3);
    }
  }
}

// Which elements a program reads is its own affair where none is needed; where one is, it says so.
TEST(EveryOp, AGatherOutOfRangeIsRefused) {
  const auto graph = ParseGraph("graph @g(%t: f32[V], %i: i64[N]) { %y = gather %t, %i\n return %y }");
  for (const auto& device : DevicesUnderTest()) {
    auto program = device->Compile(*graph);
    ASSERT_TRUE(program.ok()) << program.status();
    auto run = [&](int64_t index) {
      std::vector<HostTensor> inputs = {{DType::kF32, {3}, std::vector<std::byte>(12)},
                                        {DType::kI64, {1}, std::vector<std::byte>(8)}};
      std::memcpy(inputs[1].bytes.data(), &index, sizeof index);
      return (*program)->Run(inputs, 1).status();
    };
    for (int64_t index : {-3, 0, 2}) EXPECT_EQ(run(index), absl::OkStatus());
    for (int64_t index : {INT64_MIN, int64_t{-4}, int64_t{3}, int64_t{1} << 32}) {
      EXPECT_TRUE(absl::IsInvalidArgument(run(index))) << index;
    }
  }
}

TEST(EveryOp, AScatterOutOfRangeIsRefused) {
  const auto graph = ParseGraph(
      "graph @g(%x: f32[V], %i: i64[N, 1], %u: f32[N]) { %y = scatter %x, %i, %u {combiner = \"set\"}\n return %y }");
  for (const auto& device : DevicesUnderTest()) {
    auto program = device->Compile(*graph);
    ASSERT_TRUE(program.ok()) << program.status();
    auto run = [&](int64_t dim_size, int64_t index) {
      std::vector<HostTensor> inputs = {{DType::kF32, {dim_size}, std::vector<std::byte>(dim_size * 4)},
                                        {DType::kI64, {1, 1}, std::vector<std::byte>(8)},
                                        {DType::kF32, {1}, std::vector<std::byte>(4)}};
      std::memcpy(inputs[1].bytes.data(), &index, sizeof index);
      return (*program)->Run(inputs, 1).status();
    };
    for (int64_t index : {-3, 0, 2}) EXPECT_EQ(run(3, index), absl::OkStatus());
    for (int64_t index : {INT64_MIN, int64_t{-4}, int64_t{3}, int64_t{1} << 32}) {
      EXPECT_TRUE(absl::IsInvalidArgument(run(3, index))) << index;
    }
    EXPECT_FALSE(run(0, 0).ok());
  }
}

}  // namespace
}  // namespace tailor
