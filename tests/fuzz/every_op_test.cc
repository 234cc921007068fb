// Every op of the table with every element type that its row admits, on every CPU level.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/fuzz/check_graph.h"

namespace tailor {
namespace {

constexpr uint64_t kSeed = 2;  // one of its shapes meets infinities and NaN
constexpr DType kDTypes[] = {DType::kBool, DType::kI8,  DType::kI16, DType::kI32,  DType::kI64, DType::kU8, DType::kU16,
                             DType::kU32,  DType::kU64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

// Attributes that fit x: [M, N], y: [M, N].
Attributes AttributesOf(const OpInfo& info, DType dtype) {
  const DimExpr m = DimExpr::Symbol(0), n = DimExpr::Symbol(1);
  switch (info.shape) {
    case ShapeRule::kReduce:
      return {{"axes", std::vector<int64_t>{1}}};
    case ShapeRule::kBroadcastTo:
      return {{"shape", Shape{2, m, n}}};
    case ShapeRule::kReshape:
      return {{"shape", Shape{m * n}}};
    case ShapeRule::kTranspose:
      return {{"permutation", std::vector<int64_t>{1, 0}}};
    case ShapeRule::kSlice:
      return {{"starts", Shape{m - 1, 0}}, {"sizes", Shape{m, 1}}, {"steps", std::vector<int64_t>{-1, 1}}};
    case ShapeRule::kConcat:
      return {{"axis", int64_t{1}}};
    case ShapeRule::kAlongAxis:
      return {{"axis", int64_t{1}}, {"combiner", std::string("add")}};
    case ShapeRule::kScatter:
      return {{"combiner", std::string("set")}};
    case ShapeRule::kPad:
      return {{"low", Shape{1, 0}}, {"high", Shape{-1, n}}, {"interior", std::vector<int64_t>{0, 1}}};
    case ShapeRule::kWindow:
      return {{"axes", std::vector<int64_t>{1}}, {"sizes", Shape{2}}};
    case ShapeRule::kContract:
      return {{"transpose_rhs", int64_t{1}}};
    case ShapeRule::kFromShape:
      return {{"shape", Shape{n, m}}, {"axis", int64_t{0}}, {"dtype", dtype}};
    default:
      return {};
  }
}

// All ops on operands of `dtype`; those that the type rules refuse are left out.
Graph EveryOp(DType dtype) {
  Graph graph(NameOf(dtype));
  (void)graph.AddSymbol({.name = "M", .min = 1});
  (void)graph.AddSymbol({.name = "N", .min = 1});
  const Shape shape = {DimExpr::Symbol(0), DimExpr::Symbol(1)};
  const Value x = *graph.AddInput("x", dtype, shape), y = *graph.AddInput("y", dtype, shape);
  const Value condition = *graph.AddInput("c", DType::kBool, shape);
  const Value padding = *graph.AddInput("p", dtype, {});
  const Value indices = *graph.AddInput("i", DType::kI32, {shape[1]});
  const Value rows = *graph.AddInput("r", DType::kI64, {shape[1], 1}),
              updates = *graph.AddInput("u", dtype, {shape[1], shape[1]});
  auto append = [&](OpKind op, std::vector<Value> operands, Attributes attributes) {
    const auto node = graph.Append(op, operands, std::move(attributes));
    if (node.ok()) (void)graph.AddOutput(absl::StrCat("y", graph.outputs().size()), {*node, 0});
  };
  for (const OpInfo& info : AllOps()) {
    if (info.fusion == FusionClass::kStructural || info.fusion == FusionClass::kControl) continue;
    std::vector<Value> operands = {x, y};
    operands.resize(info.operands.size() < 2 && info.kind != OpKind::kConcat ? info.operands.size() : 2);
    if (info.kind == OpKind::kSelect) operands = {condition, x, y};
    if (info.kind == OpKind::kGather) operands = {x, indices};
    if (info.kind == OpKind::kPad) operands = {x, padding};
    if (info.kind == OpKind::kScatter) operands = {x, rows, updates};
    if (info.kind == OpKind::kCast || info.kind == OpKind::kBitcast) continue;
    append(info.kind, operands, AttributesOf(info, dtype));
  }
  for (DType to : kDTypes) {
    append(OpKind::kCast, {x}, {{"dtype", to}});
    append(OpKind::kBitcast, {x}, {{"dtype", to}});
  }
  for (const char* combiner : {"add", "mul", "max", "min"}) {
    append(OpKind::kScatter, {x, rows, updates}, {{"combiner", std::string(combiner)}});
    for (int64_t form = 0; form < 8; ++form) {
      append(OpKind::kScan, {x},
             {{"axis", form % 2},
              {"combiner", std::string(combiner)},
              {"reverse", form / 2 % 2},
              {"exclusive", form / 4}});
    }
  }
  return graph;
}

// Floats on every level; integers on one level each in turn, unless all is to be tested.
TEST(EveryOp, AgreesWithTheReference) {
  const auto devices = CpuDevices();
  for (DType dtype : kDTypes) {
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
  for (const auto& device : CpuDevices()) {
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
  for (const auto& device : CpuDevices()) {
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
  for (const auto& device : CpuDevices()) {
    auto program = device->Compile(*graph);
    ASSERT_TRUE(program.ok()) << program.status();
    auto run = [&](int64_t extent, int64_t index) {
      std::vector<HostTensor> inputs = {{DType::kF32, {extent}, std::vector<std::byte>(extent * 4)},
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
