#include "graph/builders.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "graph/text.h"
#include "graph/verifier.h"

namespace tailor {
namespace {

// The body lines that `build` appends to a graph with inputs x [B, S, 64], scale [64] and mask.
template <typename Build>
std::string Built(Build build) {
  Graph graph = *ParseGraph("graph @g(%x: f32[B, S, 64], %s: f32[64], %m: f32[B, 1, S], %i: i32[B]) { return }");
  absl::StatusOr<Value> result = build(graph);
  if (!result.ok()) return std::string(result.status().message());
  EXPECT_TRUE(graph.AddOutput("y", *result).ok());
  EXPECT_EQ(VerifyGraph(graph), absl::OkStatus());
  std::string text = graph.ToText();
  EXPECT_EQ(ParseGraph(text)->ToText(), text);
  return text.substr(text.find('\n') + 1);
}

constexpr Value kX{0, 0}, kScale{1, 0}, kMask{2, 0}, kInts{3, 0};

TEST(Builders, Softmax) {
  EXPECT_EQ(Built([](Graph& g) { return Softmax(g, kX, -1); }),
            R"(  %4 = reduce_max %x {axes = [2], keep_dims = 1} : f32[B, S, 1]
  %5 = sub %x, %4 : f32[B, S, 64]
  %6 = exp %5 : f32[B, S, 64]
  %7 = reduce_sum %6 {axes = [2], keep_dims = 1} : f32[B, S, 1]
  %8 = div %6, %7 : f32[B, S, 64]
  return "y" = %8
}
)");
}

TEST(Builders, LogSoftmax) {
  EXPECT_EQ(Built([](Graph& g) { return LogSoftmax(g, kX, 1); }),
            R"(  %4 = reduce_max %x {axes = [1], keep_dims = 1} : f32[B, 1, 64]
  %5 = sub %x, %4 : f32[B, S, 64]
  %6 = exp %5 : f32[B, S, 64]
  %7 = reduce_sum %6 {axes = [1], keep_dims = 1} : f32[B, 1, 64]
  %8 = log %7 : f32[B, 1, 64]
  %9 = sub %5, %8 : f32[B, S, 64]
  return "y" = %9
}
)");
}

TEST(Builders, LayerNorm) {
  EXPECT_EQ(Built([](Graph& g) { return LayerNorm(g, kX, kScale, kScale, 1e-12); }),
            R"(  %4 = reduce_mean %x {axes = [2], keep_dims = 1} : f32[B, S, 1]
  %5 = sub %x, %4 : f32[B, S, 64]
  %6 = mul %5, %5 : f32[B, S, 64]
  %7 = reduce_mean %6 {axes = [2], keep_dims = 1} : f32[B, S, 1]
  %8 = constant 1e-12 : f32[]
  %9 = add %7, %8 : f32[B, S, 1]
  %10 = rsqrt %9 : f32[B, S, 1]
  %11 = mul %5, %10 : f32[B, S, 64]
  %12 = mul %11, %s : f32[B, S, 64]
  %13 = add %12, %s : f32[B, S, 64]
  return "y" = %13
}
)");
  EXPECT_EQ(Built([](Graph& g) { return LayerNorm(g, kX, {}, {}, 1e-5); }).find("%12"), std::string::npos);
}

TEST(Builders, Gelu) {
  EXPECT_EQ(Built([](Graph& g) { return GeluErf(g, kX); }),
            R"(  %4 = constant 0.70710677 : f32[]
  %5 = mul %x, %4 : f32[B, S, 64]
  %6 = erf %5 : f32[B, S, 64]
  %7 = constant 1 : f32[]
  %8 = add %6, %7 : f32[B, S, 64]
  %9 = constant 0.5 : f32[]
  %10 = mul %x, %9 : f32[B, S, 64]
  %11 = mul %10, %8 : f32[B, S, 64]
  return "y" = %11
}
)");
  EXPECT_EQ(Built([](Graph& g) { return GeluTanh(g, kX); }),
            R"(  %4 = mul %x, %x : f32[B, S, 64]
  %5 = mul %4, %x : f32[B, S, 64]
  %6 = constant 0.044715 : f32[]
  %7 = mul %5, %6 : f32[B, S, 64]
  %8 = add %x, %7 : f32[B, S, 64]
  %9 = constant 0.7978846 : f32[]
  %10 = mul %8, %9 : f32[B, S, 64]
  %11 = tanh %10 : f32[B, S, 64]
  %12 = constant 1 : f32[]
  %13 = add %11, %12 : f32[B, S, 64]
  %14 = constant 0.5 : f32[]
  %15 = mul %x, %14 : f32[B, S, 64]
  %16 = mul %15, %13 : f32[B, S, 64]
  return "y" = %16
}
)");
}

TEST(Builders, L2Normalize) {
  EXPECT_EQ(Built([](Graph& g) { return L2Normalize(g, kX, -1, 1e-12); }),
            R"(  %4 = mul %x, %x : f32[B, S, 64]
  %5 = reduce_sum %4 {axes = [2], keep_dims = 1} : f32[B, S, 1]
  %6 = sqrt %5 : f32[B, S, 1]
  %7 = constant 1e-12 : f32[]
  %8 = max %6, %7 : f32[B, S, 1]
  %9 = div %x, %8 : f32[B, S, 64]
  return "y" = %9
}
)");
}

TEST(Builders, Attention) {
  EXPECT_EQ(Built([](Graph& g) { return Attention(g, kX, kX, kX, kMask, 0); }),
            R"(  %4 = dot %x, %x {transpose_rhs = 1} : f32[B, S, S]
  %5 = constant 0.125 : f32[]
  %6 = mul %4, %5 : f32[B, S, S]
  %7 = add %6, %m : f32[B, S, S]
  %8 = reduce_max %7 {axes = [2], keep_dims = 1} : f32[B, S, 1]
  %9 = sub %7, %8 : f32[B, S, S]
  %10 = exp %9 : f32[B, S, S]
  %11 = reduce_sum %10 {axes = [2], keep_dims = 1} : f32[B, S, 1]
  %12 = div %10, %11 : f32[B, S, S]
  %13 = dot %12, %x : f32[B, S, 64]
  return "y" = %13
}
)");
}

// The types of the values that `build` appends to a graph with an input x of `dtype` [R, 64] and another, s [64].
template <typename Build>
std::string TypesBuilt(DType dtype, Build build) {
  Graph graph =
      *ParseGraph(absl::StrCat("graph @g(%x: ", NameOf(dtype), "[R, 64], %s: ", NameOf(dtype), "[64]) { return }"));
  const absl::StatusOr<Value> result = build(graph);
  if (!result.ok()) return std::string(result.status().message());
  EXPECT_TRUE(graph.AddOutput("y", *result).ok());
  EXPECT_EQ(VerifyGraph(graph), absl::OkStatus());
  std::string out;
  for (size_t i = 2; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    absl::StrAppend(&out, i == 2 ? "" : " ", InfoOf(node.op).text, ":", NameOf(node.results[0].dtype));
  }
  return out;
}

TEST(Builders, NarrowTypesAreWidenedOnceAndRoundedOnce) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const std::string back = absl::StrCat(" cast:", NameOf(dtype));
    EXPECT_EQ(TypesBuilt(dtype, [](Graph& g) { return Softmax(g, kX, -1); }),
              "cast:f32 reduce_max:f32 sub:f32 exp:f32 reduce_sum:f32 div:f32" + back);
    EXPECT_EQ(TypesBuilt(dtype, [](Graph& g) { return LogSoftmax(g, kX, -1); }),
              "cast:f32 reduce_max:f32 sub:f32 exp:f32 reduce_sum:f32 log:f32 sub:f32" + back);
    EXPECT_EQ(TypesBuilt(dtype, [](Graph& g) { return L2Normalize(g, kX, -1, 1e-12); }),
              "cast:f32 mul:f32 reduce_sum:f32 sqrt:f32 constant:f32 max:f32 div:f32" + back);
    EXPECT_EQ(TypesBuilt(dtype, [](Graph& g) { return LayerNorm(g, kX, kScale, kScale, 1e-5); }),
              "cast:f32 reduce_mean:f32 sub:f32 mul:f32 reduce_mean:f32 constant:f32 add:f32 rsqrt:f32 mul:f32 "
              "cast:f32 mul:f32 cast:f32 add:f32" +
                  back);
  }
}

TEST(Builders, LayerNormTakesOperandsOfOneType) {
  EXPECT_EQ(Built([](Graph& g) { return LayerNorm(g, kX, kInts, {}, 1e-5); }),
            "layer_norm: operand \"scale\" (%i) has type i32, but operand \"x\" (%x) has type f32");
  EXPECT_EQ(Built([](Graph& g) { return LayerNorm(g, kX, kScale, kInts, 1e-5); }),
            "layer_norm: operand \"bias\" (%i) has type i32, but operand \"x\" (%x) has type f32");
  EXPECT_EQ(Built([](Graph& g) {
              return LayerNorm(g, kX, {99, 0}, {}, 1e-5);
            }),
            "layer_norm: operand \"scale\" is no value of this graph (node 99, result 0)");
}

TEST(Builders, ErrorsNameTheBuilderOrThePrimitive) {
  EXPECT_EQ(Built([](Graph& g) { return Softmax(g, {}, 0); }),
            "softmax: operand \"x\" is no value of this graph (node -1, result 0)");
  EXPECT_EQ(Built([](Graph& g) { return Softmax(g, kInts, 0); }),
            "exp: operand \"x\" (%5) has type i32, needs f16, bf16, f32 or f64");
  EXPECT_EQ(Built([](Graph& g) { return Softmax(g, kX, 3); }),
            "reduce_max: attribute \"axes\" has axis 3, but the rank is 3");
  EXPECT_EQ(Built([](Graph& g) { return Attention(g, kX, kScale, kX, {}, 0); }),
            "dot: operand \"rhs\" (%s) has rank 1, needs at least 2");
  EXPECT_EQ(Built([](Graph& g) { return Attention(g, kMask, kMask, kX, {}, 0); }),
            "attention: the last dim size of operand \"query\" (%m) of type f32[B, 1, S] must be a positive constant "
            "when no scale is given");
}

TEST(ScalarConstant, HoldsTheValueOfEveryType) {
  for (int i = 1; i < kDTypeCount; ++i) {
    Graph graph;
    DType dtype = static_cast<DType>(i);
    Value one = *ScalarConstant(graph, dtype, 1);
    EXPECT_EQ(graph.type(one), (TensorType{dtype, {}}));
    EXPECT_EQ(graph.ToText(), std::string("graph @main() {\n  %0 = constant ") +
                                  (dtype == DType::kBool ? "true" : "1") + " : " + NameOf(dtype) + "[]\n  return\n}\n");
  }
}

}  // namespace
}  // namespace tailor
