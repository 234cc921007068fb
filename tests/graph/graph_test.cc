#include "graph/graph.h"

#include <gtest/gtest.h>

#include "graph/builders.h"

namespace tailor {
namespace {

class GraphTest : public ::testing::Test {
 protected:
  GraphTest() {
    batch_ = DimExpr::Symbol(*graph_.AddSymbol({"B"}));
    x_ = *graph_.AddInput("x", DType::kF32, {batch_, 4});
  }

  std::string AppendError(OpKind op, absl::Span<const Value> operands, Attributes attributes = {}) {
    size_t nodes = graph_.nodes().size();
    absl::Status status = graph_.Append(op, operands, std::move(attributes)).status();
    EXPECT_EQ(graph_.nodes().size(), nodes);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }

  Graph graph_{"g"};
  DimExpr batch_;
  Value x_;
};

TEST_F(GraphTest, AppendFillsInAndCanonicalizesAttributes) {
  NodeId sum = *graph_.Append(OpKind::kReduceSum, {x_}, {{"axes", std::vector<int64_t>{-1, 0}}});
  EXPECT_EQ(graph_.node(sum).i64s("axes"), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(graph_.node(sum).i64("keep_dims"), 0);
  NodeId slice = *graph_.Append(OpKind::kSlice, {x_}, {{"starts", Shape{0, 0}}, {"sizes", Shape{batch_, 2}}});
  EXPECT_EQ(graph_.node(slice).i64s("steps"), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(graph_.node(slice).dims("sizes")[1], 2);
  NodeId concat = *graph_.Append(OpKind::kConcat, {x_, x_}, {{"axis", int64_t{-2}}});
  EXPECT_EQ(graph_.node(concat).i64("axis"), 0);
  NodeId iota =
      *graph_.Append(OpKind::kIota, {}, {{"shape", Shape{2, 3}}, {"axis", int64_t{-1}}, {"dtype", DType::kI32}});
  EXPECT_EQ(graph_.node(iota).i64("axis"), 1);
  EXPECT_EQ(graph_.node(iota).dtype("dtype"), DType::kI32);
}

TEST_F(GraphTest, AppendRefusesAndChangesNothing) {
  EXPECT_EQ(AppendError(OpKind::kAdd, {x_}), "add: has 1 operands, needs 2");
  EXPECT_EQ(AppendError(OpKind::kConcat, {}, {{"axis", int64_t{0}}}), "concat: has 0 operands, needs at least 1");
  EXPECT_EQ(AppendError(OpKind::kAdd, {x_, {7, 0}}),
            "add: operand \"rhs\" is no value of this graph (node 7, result 0)");
  EXPECT_EQ(AppendError(OpKind::kNeg, {{0, 1}}), "neg: operand \"x\" is no value of this graph (node 0, result 1)");
  EXPECT_EQ(AppendError(OpKind::kReshape, {x_}), "reshape: attribute \"shape\" is missing");
  EXPECT_EQ(AppendError(OpKind::kReshape, {x_}, {{"shape", int64_t{3}}}), "reshape: attribute \"shape\" must be dims");
  EXPECT_EQ(AppendError(OpKind::kNeg, {x_}, {{"axis", int64_t{3}}}), "neg: there is no attribute \"axis\"");
  EXPECT_EQ(AppendError(OpKind::kReshape, {x_}, {{"shape", Shape{DimExpr::Symbol(9)}}}),
            "reshape: attribute \"shape\" entry 0 uses symbol 9, which this graph does not have");
  EXPECT_EQ(AppendError(OpKind::kReshape, {x_}, {{"shape", Shape{DimExpr(INT64_MAX) + 1}}}),
            "reshape: attribute \"shape\" entry 0 has no value: a coefficient leaves 64 bits");
  EXPECT_EQ(AppendError(OpKind::kInput, {}), "input: is added by a function of its own, not as an op");
}

TEST_F(GraphTest, SymbolsAreChecked) {
  auto error = [&](SymbolInfo info) { return std::string(graph_.AddSymbol(info).status().message()); };
  EXPECT_EQ(error({""}), "a symbol needs a name");
  EXPECT_EQ(error({"B"}), "symbol \"B\": the name is taken");
  EXPECT_EQ(error({"S", -1}), "symbol \"S\": min is -1, needs at least 0");
  EXPECT_EQ(error({"S", 5, 4}), "symbol \"S\": min is 5, above max 4");
  EXPECT_EQ(error({"S", 0, 8, 0}), "symbol \"S\": multiple_of is 0, needs at least 1");
  EXPECT_EQ(error({"S", 0, 8, 1, {9}}), "symbol \"S\": likely value 9 is outside [0, 8]");
  EXPECT_EQ(error({"S", 2, 8, 1, {4, 1}}), "symbol \"S\": likely value 1 is outside [2, 8]");
  EXPECT_EQ(error({"S", 0, 8, 4, {8, 2}}), "symbol \"S\": likely value 2 is no multiple of 4");
  EXPECT_EQ(error({"S", 9, 15, 8}), "symbol \"S\": no multiple of 8 lies in [9, 15]");
  EXPECT_EQ(error({"S", 1, 7, 8}), "symbol \"S\": no multiple of 8 lies in [1, 7]");
  EXPECT_EQ(graph_.FindSymbol("B"), 0);
  EXPECT_EQ(graph_.FindSymbol("S"), std::nullopt);
  EXPECT_EQ(graph_.symbols().size(), 1u);
}

TEST_F(GraphTest, InputsConstantsAndOutputsAreChecked) {
  EXPECT_EQ(graph_.AddInput("x", DType::kF32, {}).status().message(), "input: the name \"x\" is taken");
  EXPECT_EQ(graph_.AddInput("", DType::kF32, {}).status().message(), "input: needs a name");
  EXPECT_EQ(graph_.AddInput("z", DType::kInvalid, {}).status().message(),
            "input: attribute \"dtype\" is no element type");
  EXPECT_EQ(graph_.AddInput("z", DType::kF32, Shape(9, 1)).status().message(),
            "input: the result has rank 9, more than 8");
  float value = 1;
  EXPECT_EQ(graph_.AddConstant("w", DType::kF32, {2}, {nullptr, &value, 4, {}}).status().message(),
            "constant: \"w\" has 4 bytes, its type needs 8");
  EXPECT_EQ(graph_.AddConstant("w", DType::kF32, {batch_}, {nullptr, &value, 4, {}}).status().message(),
            "constant: \"w\" needs constant dim sizes and a size below 2^63 bytes");
  EXPECT_TRUE(graph_.AddOutput("y", x_).ok());
  EXPECT_EQ(graph_.AddOutput("y", x_).message(), "output: the name \"y\" is taken");
  EXPECT_EQ(graph_.AddOutput("z", {5, 0}).message(), "output: \"z\" is no value of this graph (node 5, result 0)");
  EXPECT_TRUE(graph_.AddOutput("again", x_).ok());
}

TEST_F(GraphTest, ValuesGoByTheFirstOwnerOfAName) {
  Value a = {*graph_.Append(OpKind::kNeg, {x_}), 0}, b = {*graph_.Append(OpKind::kNeg, {a}), 0};
  EXPECT_EQ(graph_.NameOf(x_), "%x");
  EXPECT_EQ(graph_.NameOf(a), "%1");
  graph_.SetNodeName(b.node, "h");
  EXPECT_EQ(graph_.NameOf(b), "%h");
  graph_.SetNodeName(a.node, "h");
  EXPECT_EQ(graph_.NameOf(a), "%h");
  EXPECT_EQ(graph_.NameOf(b), "%2");
  graph_.SetNodeName(a.node, "");
  EXPECT_EQ(graph_.NameOf(b), "%h");
  graph_.SetNodeName(x_.node, "renamed");
  EXPECT_EQ(graph_.NameOf(x_), "%x");
}

TEST_F(GraphTest, ACopyIsIndependent) {
  Graph copy = graph_;
  ASSERT_TRUE(copy.Append(OpKind::kNeg, {x_}).ok());
  EXPECT_EQ(graph_.nodes().size(), 1u);
  EXPECT_EQ(copy.nodes().size(), 2u);
}

TEST_F(GraphTest, WhatIsTakenBackLeavesItsNamesToOthers) {
  graph_.SetNodeName(*graph_.Append(OpKind::kExp, {x_}), "e");
  const std::string before = graph_.ToText();
  const Graph::Mark mark = graph_.mark();
  const auto add = [&] {
    const DimExpr symbol = DimExpr::Symbol(*graph_.AddSymbol({"S"}));
    const Value y = *graph_.AddInput("y", DType::kF32, {symbol, 4});
    const Value half = *ScalarConstant(graph_, DType::kF32, 0.5);
    graph_.SetNodeName(*graph_.Append(OpKind::kMul, {y, half}), "e");
    EXPECT_TRUE(graph_.AssumeEqual(symbol, batch_).ok());
    EXPECT_TRUE(graph_.AddOutput("z", y).ok());
    return graph_.ToText();
  };
  const std::string after = add();
  graph_.RevertTo(mark);
  EXPECT_EQ(graph_.ToText(), before);
  EXPECT_FALSE(graph_.FindSymbol("S"));
  EXPECT_EQ(add(), after);
}

TEST(ConstantData, HashSeesEveryByteAndTheSize) {
  std::vector<uint8_t> bytes(21, 3);
  auto hash = [&](size_t size) { return ConstantData{nullptr, bytes.data(), size, {}}.Hash(); };
  const uint64_t before = hash(21);
  for (uint8_t& byte : bytes) {
    byte ^= 1;
    EXPECT_NE(hash(21), before);
    byte ^= 1;
  }
  bytes.assign(21, 0);
  EXPECT_NE(hash(20), hash(21));
}

}  // namespace
}  // namespace tailor
