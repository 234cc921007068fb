#include "graph/verifier.h"

#include <gtest/gtest.h>

#include "graph/text.h"

namespace tailor {
namespace {

Graph Parsed() {
  return *ParseGraph(R"(graph @g(%x: f32[B, S], %n: i64[]) {
    %sum = reduce_sum %x {axes = [1]}
    %c = constant 2 : f32[]
    %y = mul %sum, %c
    %loop = while(%n) { region(%i: i64[]) { %t = constant true : bool[] return %t } region(%i: i64[]) { return %i } }
    return %y, %loop
  })");
}

Node& Mutable(const Graph& graph, NodeId id) { return const_cast<Node&>(graph.node(id)); }

TEST(Verifier, AcceptsWhatAppendAccepts) { EXPECT_EQ(VerifyGraph(Parsed()), absl::OkStatus()); }

TEST(Verifier, FindsEachBrokenInvariant) {
  struct Case {
    const char* message;
    void (*damage)(Graph&);
  };
  const Case cases[] = {
      {"node 4 (mul): mul: operand \"lhs\" is no value of this graph (node 4, result 0)",
       [](Graph& g) {
         Mutable(g, 4).operands[0] = {4, 0};
       }},
      {"node 2 (reduce_sum): reduce_sum: has 2 operands, needs 1",
       [](Graph& g) {
         Mutable(g, 2).operands.push_back({0, 0});
       }},
      {"node 2 (reduce_sum): the result types are not what the rules give",
       [](Graph& g) { Mutable(g, 2).results[0].shape[0] = 3; }},
      {"node 2 (reduce_sum): the attributes are not canonical",
       [](Graph& g) { Mutable(g, 2).attributes["axes"] = std::vector<int64_t>{-1}; }},
      {"node 2 (reduce_sum): the attributes are not canonical",
       [](Graph& g) { Mutable(g, 2).attributes.erase("keep_dims"); }},
      {"node 0 (input): an attribute is missing", [](Graph& g) { Mutable(g, 0).attributes.erase("shape"); }},
      {"node 0 (input): input: attribute \"shape\" entry 0 uses symbol 7, which this graph does not have",
       [](Graph& g) { Mutable(g, 0).attributes["shape"] = Shape{DimExpr::Symbol(7)}; }},
      {"node 3 (constant): constant: \"2\" has 4 bytes, its type needs 8",
       [](Graph& g) { Mutable(g, 3).attributes["dtype"] = DType::kF64; }},
      {"node 5 (while): a region is missing", [](Graph& g) { Mutable(g, 5).regions[0].graph = nullptr; }},
      {"node 5 (while): while: has 1 regions, needs 2", [](Graph& g) { Mutable(g, 5).regions.pop_back(); }},
      {"node 5 (while): graph \"region\", node 1 (constant): the result types are not what the rules give",
       [](Graph& g) { Mutable(*Mutable(g, 5).regions[0].graph, 1).results[0].dtype = DType::kI8; }},
  };
  for (const Case& c : cases) {
    Graph graph = Parsed();
    c.damage(graph);
    EXPECT_EQ(VerifyGraph(graph).message(), std::string("graph \"g\", ") + c.message);
  }
}

}  // namespace
}  // namespace tailor
