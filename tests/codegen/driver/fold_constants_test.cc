#include "codegen/driver/fold_constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fusion/remove_dead_nodes.h"
#include "graph/text.h"

namespace tailor::driver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr FoldLimits kAlways = {.cycles_per_vector = 64, .least_cycles = 0, .growth_bytes = 0};

// Gives every constant zero bytes of its own.
absl::StatusOr<ConstantData> Zeros(absl::string_view, const TensorType& type) {
  uint64_t size = SizeOf(type.dtype);
  for (const DimExpr& dim : type.shape) size *= *dim.constant();
  auto owner = std::make_shared<std::vector<char>>(size);
  const void* data = owner->data();
  return ConstantData{std::move(owner), data, size, std::nullopt};
}

class FoldConstantsTest : public testing::Test {
 protected:
  // The graph after folding, without dead nodes; evaluated_ is the subgraph, or empty.
  Graph Fold(const std::string& body, const FoldLimits& limits = kAlways) {
    const absl::StatusOr<Graph> graph = ParseGraph(absl::StrCat("graph @g(%x: f32[B, 64]) {\n", body, "}\n"), Zeros);
    if (!graph.ok()) ADD_FAILURE() << graph.status();
    evaluated_.clear();
    const auto evaluate = [&](const Graph& constants) -> absl::StatusOr<std::vector<ConstantData>> {
      EXPECT_TRUE(evaluated_.empty()) << "evaluated twice";
      EXPECT_TRUE(constants.inputs().empty() && constants.symbols().empty());
      evaluated_ = constants.ToText();
      std::vector<ConstantData> values;
      for (const Output& output : constants.outputs()) {
        values.push_back(*Zeros("", constants.type(output.value)));
      }
      return values;
    };
    const absl::StatusOr<Graph> folded = FoldConstants(*graph, evaluate, limits);
    if (!folded.ok()) ADD_FAILURE() << folded.status();
    return *RemoveDeadNodes(*folded, *ShapeFacts::Collect(*folded));
  }

  // The ops of `graph` in order, without inputs.
  static std::vector<std::string> Ops(const Graph& graph) {
    std::vector<std::string> ops;
    for (const Node& node : graph.nodes()) {
      if (node.op != OpKind::kInput) ops.emplace_back(InfoOf(node.op).text);
    }
    return ops;
  }

  std::string evaluated_;
};

constexpr char kProjection[] = R"(
  %a = constant @a : f32[128, 128]
  %w = constant @w : f32[128, 64]
  %p = dot %a, %w
  %k = transpose %p {permutation = [1, 0]}
  %y = dot %x, %k
  return %y
)";

TEST_F(FoldConstantsTest, UpToTheLastConstantValue) {
  const Graph folded = Fold(kProjection);
  EXPECT_THAT(Ops(folded), ElementsAre("constant", "dot"));
  EXPECT_THAT(folded.ToText(), HasSubstr("%k = constant @k : f32[64, 128]"));
  EXPECT_THAT(evaluated_, HasSubstr("%p = dot %a, %w"));
  EXPECT_THAT(evaluated_, HasSubstr("return \"0\" = %k"));
}

TEST_F(FoldConstantsTest, OnlyIfItPays) {
  FoldLimits limits = kAlways;
  limits.least_cycles = 128 * 64 * 128;
  EXPECT_THAT(Ops(Fold(kProjection, limits)), ElementsAre("constant", "dot"));
  limits.least_cycles += 1;
  EXPECT_THAT(Ops(Fold(kProjection, limits)), ElementsAre("constant", "constant", "dot", "transpose", "dot"));
  EXPECT_EQ(evaluated_, "");
  limits = kAlways;
  constexpr char kProduct[] = R"(
  %a = constant @a : f32[128, 128]
  %w = constant @w : f32[128, 64]
  %p = dot %a, %w
  return %p
)";
  limits.cycles_per_vector = 128;
  EXPECT_THAT(Ops(Fold(kProduct, limits)), ElementsAre("constant"));
  limits.cycles_per_vector = 129;
  EXPECT_THAT(Ops(Fold(kProduct, limits)), ElementsAre("constant", "constant", "dot"));
}

TEST_F(FoldConstantsTest, NotBeyondItsBounds) {
  FoldLimits limits = kAlways;
  limits.most_cycles = 128 * 64 * 128;
  limits.most_bytes = 128 * 128 * 4;
  EXPECT_THAT(Ops(Fold(kProjection, limits)), ElementsAre("constant", "dot"));
  limits.most_cycles -= 1;
  EXPECT_THAT(Ops(Fold(kProjection, limits)), ElementsAre("constant", "constant", "dot", "transpose", "dot"));
  limits.most_cycles += 1;
  limits.most_bytes -= 1;
  EXPECT_THAT(Ops(Fold(kProjection, limits)), ElementsAre("constant", "constant", "dot", "transpose", "dot"));
}

// Reading the 2 MiB of the broadcast would take longer than repeating the row.
TEST_F(FoldConstantsTest, WhatGrowsIsComputedFromWhatIsFolded) {
  const Graph folded = Fold(R"(
  %a = constant @a : f32[128, 1, 128]
  %s = reduce_sum %a {axes = [2]}
  %b = broadcast %s {shape = [4, 128, 64]}
  %n = neg %b
  %y = add %x, %n
  return %y
)");
  EXPECT_THAT(Ops(folded), ElementsAre("constant", "broadcast", "neg", "add"));
  EXPECT_THAT(folded.ToText(), HasSubstr("%s = constant @s : f32[128, 1]"));
}

TEST_F(FoldConstantsTest, AValueMayExceedItsSourcesByTheLimit) {
  const std::string outer = R"(
  %i = iota {shape = [64, 128], axis = 0, dtype = f32}
  %d = dot %i, %i {transpose_lhs = 1}
  return %d
)";
  EXPECT_THAT(Ops(Fold(outer)), ElementsAre("iota", "dot"));
  FoldLimits limits = kAlways;
  limits.growth_bytes = 128 * 128 * 4;
  EXPECT_THAT(Ops(Fold(outer, limits)), ElementsAre("constant"));
}

TEST_F(FoldConstantsTest, CheapValuesStay) {
  EXPECT_THAT(Ops(Fold(R"(
  %a = constant @a : f32[128, 64]
  %e = exp %a
  %y = add %e, %a
  return %y
)")),
              ElementsAre("constant", "exp", "add"));
}

// The rhs of a matmul is packed: by the compiler only if it is constant. A transposed constant is.
TEST_F(FoldConstantsTest, CheapValuesThatAMatmulPacksDoNot) {
  EXPECT_THAT(Ops(Fold(R"(
  %w = constant @w : f32[64, 128]
  %b = cast %w {dtype = bf16}
  %c = cast %x {dtype = bf16}
  %y = dot %c, %b
  return %y
)")),
              ElementsAre("constant", "cast", "dot"));
  EXPECT_THAT(Ops(Fold(R"(
  %w = constant @w : f32[128, 64]
  %t = transpose %w {permutation = [1, 0]}
  %y = dot %x, %t
  return %y
)")),
              ElementsAre("constant", "transpose", "dot"));
  EXPECT_THAT(Ops(Fold(R"(
  %w = constant @w : f32[32, 64]
  %e = exp %w
  %t = transpose %x {permutation = [1, 0]}
  %y = dot %e, %t
  return %y
)")),
              ElementsAre("constant", "exp", "transpose", "dot"));
}

TEST_F(FoldConstantsTest, SymbolsInputsAndWhatMayFailStay) {
  for (const std::string table :
       {"%t = slice %a {starts = [B, 0], sizes = [64, 128]}", "%t = slice %x {starts = [0, 0], sizes = [1, 64]}",
        "%t = gather %a, %i", "%t = scatter %a, %j, %a {combiner = \"set\"}"}) {
    const bool narrow = table.find("%x") != std::string::npos;
    const Graph folded =
        Fold(absl::StrCat(R"(
  %a = constant @a : f32[128, 128]
  %i = constant @i : i64[64]
  %j = constant @j : i64[128, 1]
  %w = constant @w : f32[)",
                          narrow ? 64 : 128, ", 64]\n  ", table, "\n  %y = dot %t, %w\n  return %y\n"));
    EXPECT_EQ(evaluated_, "") << table;
    EXPECT_EQ(Ops(folded).back(), "dot") << table;
  }
}

TEST_F(FoldConstantsTest, BytesKnownByTheirHashAloneStay) {
  std::string text = absl::StrCat("graph @g(%x: f32[B, 64]) {", kProjection, "}");
  text.replace(text.find("@w : f32[128, 64]"), 17, "@w : f32[128, 64] hash 0123456789abcdef");
  const Graph graph = *ParseGraph(text);
  const auto evaluate = [](const Graph&) -> absl::StatusOr<std::vector<ConstantData>> {
    return absl::InternalError("evaluated");
  };
  EXPECT_EQ(FoldConstants(graph, evaluate, kAlways)->ToText(), graph.ToText());
}

TEST_F(FoldConstantsTest, FailuresAreReturned) {
  const Graph graph = *ParseGraph(absl::StrCat("graph @g(%x: f32[B, 64]) {", kProjection, "}"), Zeros);
  const auto evaluate = [](const Graph&) -> absl::StatusOr<std::vector<ConstantData>> {
    return absl::CancelledError("enough");
  };
  EXPECT_EQ(FoldConstants(graph, evaluate, kAlways).status(), absl::CancelledError("enough"));
}

}  // namespace
}  // namespace tailor::driver
