// Tensors, dims and folding of a graph under construction (bindings/frontend).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "bindings/frontend/builder.h"
#include "bindings/frontend/dim_text.h"
#include "bindings/frontend/error.h"
#include "bindings/frontend/ops.h"

namespace tailor::frontend {
namespace {

using testing::HasSubstr;

class FrontendTest : public testing::Test {
 protected:
  std::string Text() {
    const char* text;
    Check(tailor_graph_text(builder.graph(), &text));
    return text;
  }
  // The elements of a constant.
  std::vector<double> Numbers(const Tensor& tensor) {
    std::vector<double> numbers;
    for (int64_t i = 0; tensor.array() != nullptr && i < tensor.array()->size(); ++i) {
      numbers.push_back(tensor.array()->number(i));
    }
    return numbers;
  }
  // The texts of known elements.
  std::vector<std::string> Elements(const Tensor& tensor) {
    std::vector<std::string> texts;
    if (tensor.elements() == nullptr) return {"not known"};
    for (const Element& element : *tensor.elements()) {
      texts.push_back(element.is_dim() ? dims.Text(element.dim) : "computed");
    }
    return texts;
  }
  Tensor Ints(const std::vector<int64_t>& values) { return builder.Constant(Array::Integers(values)); }
  Tensor Floats(const std::vector<float>& values, std::vector<int64_t> shape) {
    return builder.Constant(Array::Floats(values, std::move(shape)));
  }

  Builder builder{"g"};
  Dims& dims = builder.dims();
  Dim b = dims.Symbol("B", {1, 64, 1, {}}), s = dims.Symbol("S", {2, 9, 1, {}});
};

TEST_F(FrontendTest, DimsAreNumbersWhereTheyProvablyAre) {
  EXPECT_EQ(dims.Add(2, 3), Dim(5));
  EXPECT_EQ(dims.Sub(dims.Add(b, 3), b), Dim(3));
  EXPECT_EQ(dims.FloorDiv(-7, 2), Dim(-4));
  EXPECT_EQ(dims.Mod(-7, 2), Dim(1));
  EXPECT_EQ(dims.Mod(INT64_MIN, 3), Dim(1));
  EXPECT_EQ(dims.Text(dims.Mul(b, 4)), "4*B");
  EXPECT_EQ(dims.Max(s, 1), s) << "S is at least 2";
  EXPECT_EQ(dims.Min(s, 20), s);
  EXPECT_EQ(dims.Less(s, 100), Dim(1));
  EXPECT_EQ(dims.Equal(b, b), Dim(1));
  EXPECT_EQ(dims.IsEqual(b, s), std::nullopt);
  EXPECT_EQ(dims.IsEqual(s, 10), false);
  EXPECT_EQ(dims.TruncDiv(-7, 2), Dim(-3));
  EXPECT_EQ(dims.TruncMod(-7, 2), Dim(-1));
  EXPECT_EQ(dims.TruncDiv(dims.Mul(b, 4), 4), b);
  EXPECT_EQ(dims.TruncDiv(b, dims.Sub(s, 9)), std::nullopt) << "the divisor may be negative";
}

TEST_F(FrontendTest, RangesOfExpressions) {
  const Dim x = dims.Symbol("x", {2, 9, 1, {}}), y = dims.Symbol("y", {2, 9, 1, {}});
  const auto range = [&](const Dim& dim) { return std::pair(dims.Range(dim).min, dims.Range(dim).max); };
  using Limits = std::pair<int64_t, int64_t>;
  const Dim greater = dims.Max(x, y), lesser = dims.Min(x, y);
  EXPECT_EQ(range(dims.Sub(greater, x)), Limits(0, 7));
  EXPECT_EQ(range(dims.Sub(lesser, y)), Limits(-7, 0));
  EXPECT_EQ(range(dims.Sub(greater, lesser)), Limits(0, 7));
  EXPECT_EQ(range(dims.Sub(x, y)), Limits(-7, 7));
  const Dim difference = dims.Sub(x, 5);
  EXPECT_EQ(range(dims.FloorDiv(difference, 2)), Limits(-2, 2));
  EXPECT_EQ(range(dims.FloorDiv(x, y)), Limits(0, 4));
  EXPECT_EQ(range(dims.Mod(x, 20)), Limits(2, 9));
  Dim chain = x;
  for (int i = 0; i < 60; ++i) {  // as convolutions without padding make them
    chain = dims.FloorDiv(dims.Sub(dims.Mul(chain, 2), 2), 2);
  }
  EXPECT_EQ(range(chain), Limits(-58, -51));
}

TEST_F(FrontendTest, DimsThatCannotBeAreErrors) {
  EXPECT_THROW(dims.FloorDiv(b, 0), Error);
  EXPECT_THROW(dims.Mul(INT64_MAX, 2), Error);
  EXPECT_THROW(dims.Symbol("B"), Error) << "a repeated name";
}

TEST_F(FrontendTest, DimsAreReadFromText) {
  const auto symbol = [&](const std::string& name) {
    if (name == "B") return b;
    if (name == "S") return s;
    Fail("no symbol " + name);
  };
  EXPECT_EQ(ParseDim(dims, "7", symbol), Dim(7));
  EXPECT_EQ(ParseDim(dims, "-B + 2*B", symbol), b);
  EXPECT_EQ(dims.Text(ParseDim(dims, "floordiv(S + 1, 2) * (B - 1)", symbol)),
            dims.Text(dims.Mul(dims.FloorDiv(dims.Add(s, 1), 2), dims.Sub(b, 1))));
  EXPECT_EQ(ParseDim(dims, "max(S, min(B, 1))", symbol), s);
  EXPECT_EQ(ParseDim(dims, "select(less(S, 100), truncdiv(7, 2), equal(B, S))", symbol), Dim(3));
  for (const char* wrong : {"", "B +", "2B", "f(B, 1)", "(B", "floordiv(B)", "B, 1", "99999999999999999999"}) {
    EXPECT_THROW(ParseDim(dims, wrong, symbol), Error) << wrong;
  }
  EXPECT_THROW(ParseDim(dims, std::string(100000, '(') + "1", symbol), Error);
}

TEST_F(FrontendTest, ConstantsFold) {
  const Tensor x = Floats({1, -2, 3, 4}, {2, 2});
  EXPECT_EQ(Numbers(x + 1.0), (std::vector<double>{2, -1, 4, 5}));
  EXPECT_EQ(Numbers(x * Floats({10, 100}, {2})), (std::vector<double>{10, -200, 30, 400}));
  EXPECT_EQ(Numbers(Max(x, 0)), (std::vector<double>{1, 0, 3, 4}));
  EXPECT_EQ(Numbers(Select(x < 0, 0.0, x)), (std::vector<double>{1, 0, 3, 4}));
  EXPECT_EQ(Numbers(Transpose(x, {1, 0})), (std::vector<double>{1, 3, -2, 4}));
  EXPECT_EQ(Numbers(SliceAxis(x, 1, 1, 2, -1)), (std::vector<double>{-2, 1, 4, 3}));
  EXPECT_EQ(Numbers(Concat({x, x}, 1)), (std::vector<double>{1, -2, 1, -2, 3, 4, 3, 4}));
  EXPECT_EQ(Numbers(Gather(x, Ints({-1, 0}), 0)), (std::vector<double>{3, 4, 1, -2}));
  EXPECT_EQ(Numbers(Reduce(ReduceOp::kSum, x, {0})), (std::vector<double>{4, 2}));
  EXPECT_EQ(Numbers(Reduce(ReduceOp::kMean, x, {1}, true)), (std::vector<double>{-0.5, 3.5}));
  EXPECT_EQ(Numbers(Reduce(ReduceOp::kMax, x, {0, 1})), (std::vector<double>{4}));
  EXPECT_EQ(Numbers(Cast(Floats({2.7F, -2.7F, 1e30F, NAN}, {4}), DType::kI32)),
            (std::vector<double>{2, -2, INT32_MAX, 0}));
  EXPECT_EQ(Numbers(Dot(x, Floats({1, 10}, {2, 1}))), (std::vector<double>{-19, 43}));
  EXPECT_EQ(Numbers(Dot(x, x, /*transpose_lhs=*/true)), (std::vector<double>{10, 10, 10, 20}));
  EXPECT_EQ(Numbers(Dot(Floats({1, 2, 3, 4}, {2, 1, 2}), Floats({1, 1}, {1, 2}), false, true)),
            (std::vector<double>{3, 7}));
  EXPECT_EQ(Text().find("constant"), std::string::npos) << "nothing is appended";
}

TEST_F(FrontendTest, IntegersFoldAsTheOpsSay) {
  const auto binary = [&](BinaryOp op, int64_t a, int64_t c) { return Numbers(Binary(op, Ints({a}), Ints({c})))[0]; };
  EXPECT_EQ(binary(BinaryOp::kDiv, -7, 2), -3);
  EXPECT_EQ(binary(BinaryOp::kDiv, 7, 0), 0);
  EXPECT_EQ(binary(BinaryOp::kDiv, INT64_MIN, -1), static_cast<double>(INT64_MIN));
  EXPECT_EQ(binary(BinaryOp::kMod, -7, 2), 1);
  EXPECT_EQ(binary(BinaryOp::kMod, 7, -2), -1);
  EXPECT_EQ(binary(BinaryOp::kRem, -7, 2), -1);
  EXPECT_EQ(binary(BinaryOp::kShiftLeft, 1, 66), 4);
  EXPECT_EQ(binary(BinaryOp::kAdd, INT64_MAX, 1), static_cast<double>(INT64_MIN));
}

TEST_F(FrontendTest, LargeResultsStayInTheGraph) {
  const Tensor column = builder.Constant(Array::New(DType::kF32, {64, 1}));
  const Tensor row = builder.Constant(Array::New(DType::kF32, {64}));
  EXPECT_TRUE((column + row).computed());
  EXPECT_TRUE(Broadcast(row, {64, 64}).computed());
  EXPECT_NE((row + 1.0).array(), nullptr);
}

TEST_F(FrontendTest, KnownElementsStayKnown) {
  const Tensor shape = builder.List({b, 4, s});
  EXPECT_EQ(Elements(shape * Ints({2})), (std::vector<std::string>{"2*B", "8", "2*S"}));
  EXPECT_EQ(Elements(SliceAxis(shape, 0, 1, 2)), (std::vector<std::string>{"4", "S"}));
  EXPECT_EQ(Elements(Concat({SliceAxis(shape, 0, 0, 1), Ints({-1})}, 0)), (std::vector<std::string>{"B", "-1"}));
  EXPECT_EQ(Elements(Reduce(ReduceOp::kProd, shape, {0}, true)), (std::vector<std::string>{"4*B*S"}));
  EXPECT_EQ(Numbers(Gather(shape, Ints({1}))), (std::vector<double>{4})) << "a number is a constant";
  EXPECT_EQ(Elements(Select(Eq(shape, -1), Ints({7, 7, 7}), shape)), (std::vector<std::string>{"B", "4", "S"}));
  EXPECT_EQ(Elements(Cast(Reshape(Gather(shape, Ints({2})), {}), DType::kI32)), (std::vector<std::string>{"S"}));
}

TEST_F(FrontendTest, ComputedIntegersAreElementsOfLists) {
  const Tensor n = builder.Input("n", DType::kI64, {});
  const Tensor shape = Concat({builder.List({b}), Reshape(n, {1})}, 0);
  EXPECT_EQ(Elements(shape), (std::vector<std::string>{"B", "computed"}));
  const auto parts = builder.Parts(shape);
  ASSERT_TRUE(parts.has_value());
  const Dim bound = builder.DimOf((*parts)[1]);
  EXPECT_FALSE(bound.known());
  EXPECT_EQ(builder.DimOf((*parts)[1]), bound) << "the same value gives the same symbol";
  EXPECT_EQ(shape.sources(), Sources{"n"});
  EXPECT_FALSE(builder.KnownElements(shape).has_value());
}

TEST_F(FrontendTest, DimsAreValuesInTheGraph) {
  builder.Input("x", DType::kF32, {b, s});
  const Tensor list = builder.List({dims.Sub(b, s), 3});
  builder.Output("list", list);
  EXPECT_THAT(Text(), HasSubstr("concat"));
  tailor_executable* executable = nullptr;
  tailor_compile_options options;
  tailor_compile_options_init(&options);
  const char* host = "x86-64-v2";
  options.targets = &host;
  options.target_count = 1;
  Check(tailor_graph_compile(builder.graph(), nullptr, &options, &executable));
  float x[12] = {};
  int64_t out[2] = {};
  tailor_tensor input, output;
  tailor_tensor_init(&input);
  tailor_tensor_init(&output);
  input.data = x;
  input.data_bytes = sizeof x;
  input.dtype = TAILOR_F32;
  input.rank = 2;
  input.dims[0] = 3;
  input.dims[1] = 4;
  output.data = out;
  output.data_bytes = sizeof out;
  output.dtype = TAILOR_I64;
  output.rank = 1;
  output.dims[0] = 2;
  Check(tailor_executable_run(executable, &input, 1, &output, 1));
  EXPECT_EQ(out[0], -1);
  EXPECT_EQ(out[1], 3);
  tailor_executable_release(executable);
}

TEST_F(FrontendTest, ConstantsAreBorrowed) {
  const auto memory = std::make_shared<std::vector<float>>(2048, 1.0F);
  {
    Builder other("h");
    const Array array(DType::kF32, {2048}, memory, memory->data());
    other.Output("y", other.Constant(array));
    EXPECT_EQ(memory.use_count(), 3) << "the test, the array and the graph";
  }
  EXPECT_EQ(memory.use_count(), 1);
}

TEST_F(FrontendTest, ConstantsDoNotGrowExponentially) {
  Tensor x = builder.Constant(Array::Integer(DType::kU8, 1, {1}));
  for (int i = 0; i < 40; ++i) x = Concat({x, x}, 0);
  EXPECT_TRUE(x.computed());
  EXPECT_THROW(builder.Constant(Array::New(DType::kF32, std::vector<int64_t>(TAILOR_MAX_RANK + 1, 1))), Error);
}

TEST_F(FrontendTest, EmptyConstantsWithLargeDims) {
  const int64_t many = int64_t{1} << 40;
  const Tensor x = builder.Constant(Array::New(DType::kF32, {many, 3, 0}));
  EXPECT_EQ(Concat({x, x}, 1).shape(), (Shape{many, 6, 0}));
  EXPECT_EQ(Gather(x, Ints({2}), 1).shape(), (Shape{many, 1, 0}));
  EXPECT_TRUE(Reduce(ReduceOp::kSum, x, {2}).computed());
  EXPECT_THROW(Array::New(DType::kF32, {0, -1}), Error);
}

TEST_F(FrontendTest, LongestDimsAreComputed) {
  Dim sum = 0;
  for (int i = 0; i < 700; ++i) sum = dims.Add(sum, dims.Fresh("v"));
  EXPECT_FALSE(sum.known());
  EXPECT_EQ(dims.TryAdd(2, 3), Dim(5));
}

TEST_F(FrontendTest, MisuseIsAnError) {
  const Tensor absent, x = Floats({1, 2}, {2});
  EXPECT_THROW(absent.shape(), Error);
  EXPECT_THROW(Neg(absent), Error);
  EXPECT_THROW(x + absent, Error);
  EXPECT_THROW(x + Floats({1, 2, 3}, {3}), Error);
  EXPECT_THROW(x + Ints({1, 2}), Error);
  EXPECT_THROW(Transpose(x, {0, 0}), Error);
  EXPECT_THROW(Transpose(x, {7}), Error);
  EXPECT_THROW(Concat({x, x}, 3), Error);
  EXPECT_THROW(Gather(x, Ints({2})), Error);
  EXPECT_THROW(Reduce(ReduceOp::kSum, x, {1}), Error);
  EXPECT_THROW(Reshape(x, {3}), Error);
  EXPECT_THROW(Slice(x, {1}, {2}), Error);
  EXPECT_THROW(Array::New(DType::kF32, {int64_t{1} << 40, int64_t{1} << 40}), Error);
}

}  // namespace
}  // namespace tailor::frontend
