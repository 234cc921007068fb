// The generated functions of tailor/ops.h, the builders and constants.
#include <algorithm>
#include <cmath>

#include "tests/api/compiler_fixture.h"

namespace tailor {
namespace {

using testing::HasSubstr;

using CompilerOps = CompilerTest;

TEST_F(CompilerOps, AttributesReachTheGraph) {
  tailor_value y = 0;
  const int64_t axes[] = {-1}, permutation[] = {1, 0}, steps[] = {1, 2};
  tailor_reduce_sum_options reduce;
  tailor_reduce_sum_options_init(&reduce);
  reduce.keep_dims = 1;
  ASSERT_EQ(Text(tailor_graph_reduce_sum(graph, x, axes, 1, &reduce, &y)), "OK");
  EXPECT_EQ(TypeText(y), "12 B 1");
  ASSERT_EQ(Text(tailor_graph_reduce_sum(graph, x, axes, 1, nullptr, &y)), "OK");
  EXPECT_EQ(TypeText(y), "12 B");
  ASSERT_EQ(Text(tailor_graph_transpose(graph, x, permutation, 2, &y)), "OK");
  EXPECT_EQ(TypeText(y), "12 8 B");
  ASSERT_EQ(Text(tailor_graph_cast(graph, x, TAILOR_BF16, &y)), "OK");
  EXPECT_EQ(TypeText(y), "11 B 8");
  tailor_dim zero = 0, four = 0;
  ASSERT_EQ(Text(tailor_graph_dim(graph, 0, &zero)), "OK");
  ASSERT_EQ(Text(tailor_graph_dim(graph, 4, &four)), "OK");
  const tailor_dim starts[] = {zero, zero}, sizes[] = {b, four};
  tailor_slice_options slice;
  tailor_slice_options_init(&slice);
  slice.steps = steps;
  slice.steps_count = 2;
  ASSERT_EQ(Text(tailor_graph_slice(graph, x, starts, 2, sizes, 2, &slice, &y)), "OK");
  EXPECT_EQ(TypeText(y), "12 B 4");
  EXPECT_THAT(GraphText(), HasSubstr("steps = [1, 2]"));
  const tailor_value both[] = {x, x};
  ASSERT_EQ(Text(tailor_graph_concat(graph, both, 2, 1, &y)), "OK");
  EXPECT_EQ(TypeText(y), "12 B 16");
  ASSERT_EQ(Text(tailor_graph_iota(graph, sizes, 2, 1, TAILOR_I32, &y)), "OK");
  EXPECT_EQ(TypeText(y), "4 B 4");
  tailor_dot_options dot;
  tailor_dot_options_init(&dot);
  dot.transpose_rhs = 1;
  ASSERT_EQ(Text(tailor_graph_dot(graph, x, x, &dot, &y)), "OK");
  EXPECT_EQ(TypeText(y), "12 B B");
}

TEST_F(CompilerOps, BadArgumentsAreNamed) {
  tailor_value y = 0;
  const int64_t axes[] = {5}, twice[] = {0, 0};
  const tailor_value mixed[] = {x, foreign};
  EXPECT_THAT(Text(tailor_graph_add(graph, x, ids, &y)), Invalid("add: operand \"rhs\""));
  EXPECT_THAT(Text(tailor_graph_exp(graph, ids, &y)), Invalid("exp: operand \"x\""));
  EXPECT_THAT(Text(tailor_graph_reduce_max(graph, x, axes, 1, nullptr, &y)), Invalid("axis 5"));
  EXPECT_THAT(Text(tailor_graph_reduce_max(graph, x, twice, 2, nullptr, &y)), Invalid("twice"));
  EXPECT_THAT(Text(tailor_graph_reduce_max(graph, x, nullptr, 1, nullptr, &y)), Invalid("reduce_max: axes is null"));
  EXPECT_THAT(Text(tailor_graph_reduce_max(graph, x, axes, SIZE_MAX, nullptr, &y)), Invalid("axes has"));
  EXPECT_THAT(Text(tailor_graph_cast(graph, x, 99, &y)), Invalid("cast: dtype is 99, no element type"));
  EXPECT_THAT(Text(tailor_graph_concat(graph, mixed, 2, 0, &y)), Invalid("concat: xs[1] is a value of another graph"));
  EXPECT_THAT(Text(tailor_graph_concat(graph, nullptr, 2, 0, &y)), Invalid("concat: xs is null"));
  EXPECT_THAT(Text(tailor_graph_concat(graph, nullptr, 0, 0, &y)), Invalid("concat"));
  EXPECT_THAT(Text(tailor_graph_reshape(graph, x, &foreign_dim, 1, &y)), Invalid("shape[0] is a dim of another graph"));
  EXPECT_THAT(Text(tailor_graph_gather(graph, x, x, nullptr, &y)), Invalid("gather: operand \"indices\""));
  EXPECT_THAT(Text(tailor_graph_select(graph, x, x, x, &y)), Invalid("select: operand \"condition\""));
  tailor_dot_options dot;
  tailor_dot_options_init(&dot);
  dot.transpose_lhs = 2;
  EXPECT_THAT(Text(tailor_graph_dot(graph, x, x, &dot, &y)), Invalid("transpose_lhs"));
  dot.struct_size = 3;
  EXPECT_THAT(Text(tailor_graph_dot(graph, x, x, &dot, &y)), Invalid("struct_size"));
  EXPECT_EQ(y, 0u);
}

TEST_F(CompilerOps, BuildersTakeAbsentOperands) {
  tailor_value y = 0;
  EXPECT_EQ(Text(tailor_graph_softmax(graph, x, -1, &y)), "OK");
  EXPECT_EQ(Text(tailor_graph_log_softmax(graph, x, 1, &y)), "OK");
  EXPECT_EQ(Text(tailor_graph_layer_norm(graph, x, 0, 0, 1e-5, &y)), "OK");
  EXPECT_EQ(Text(tailor_graph_gelu(graph, x, &y)), "OK");
  EXPECT_EQ(Text(tailor_graph_gelu_tanh(graph, x, &y)), "OK");
  EXPECT_EQ(Text(tailor_graph_l2_normalize(graph, x, -1, 1e-12, &y)), "OK");
  EXPECT_EQ(Text(tailor_graph_attention(graph, x, x, x, 0, 0, &y)), "OK");
  EXPECT_EQ(TypeText(y), "12 B 8");
}

TEST_F(CompilerOps, BuildersRefuseBadOperands) {
  tailor_value y = 0;
  EXPECT_THAT(Text(tailor_graph_softmax(graph, x, 2, &y)), Invalid("axis 2"));
  EXPECT_THAT(Text(tailor_graph_log_softmax(graph, foreign, 0, &y)), Invalid("log_softmax: x is a value of another"));
  EXPECT_THAT(Text(tailor_graph_layer_norm(graph, x, foreign, 0, 1e-5, &y)),
              Invalid("layer_norm: scale is a value of"));
  EXPECT_THAT(Text(tailor_graph_layer_norm(graph, x, 0, foreign, 1e-5, &y)), Invalid("layer_norm: bias is a value of"));
  EXPECT_THAT(Text(tailor_graph_gelu(graph, 0, &y)), Invalid("gelu: x is 0"));
  EXPECT_THAT(Text(tailor_graph_gelu_tanh(graph, b, &y)), Invalid("gelu_tanh: x is a dim"));
  EXPECT_THAT(Text(tailor_graph_l2_normalize(graph, 0, 0, 0, &y)), Invalid("l2_normalize: x is 0"));
  EXPECT_THAT(Text(tailor_graph_attention(graph, x, 0, x, 0, 0, &y)), Invalid("attention: key is 0"));
  EXPECT_THAT(Text(tailor_graph_attention(graph, x, x, x, foreign, 0, &y)), Invalid("attention: mask is a value of"));
  EXPECT_EQ(y, 0u);
}

// Products of operands that agree in D == E only are not made: there is no such fact then.
TEST_F(CompilerOps, WhatFailsInTheMiddleAddsNothing) {
  const auto symbol = [&](const char* name) {
    tailor_dim dim = 0;
    EXPECT_EQ(Text(tailor_graph_symbol(graph, name, SIZE_MAX, nullptr, &dim)), "OK");
    return dim;
  };
  const tailor_dim rows[] = {b, symbol("D")}, keys[] = {symbol("N"), symbol("E")};
  tailor_value q = 0, k = 0, mask = 0, y = 0;
  ASSERT_EQ(Text(tailor_graph_input(graph, "q", SIZE_MAX, TAILOR_F32, rows, 2, &q)), "OK");
  ASSERT_EQ(Text(tailor_graph_input(graph, "k", SIZE_MAX, TAILOR_F32, keys, 2, &k)), "OK");
  ASSERT_EQ(Text(tailor_graph_input(graph, "mask", SIZE_MAX, TAILOR_I32, nullptr, 0, &mask)), "OK");
  const std::string before = GraphText();
  EXPECT_THAT(Text(tailor_graph_attention(graph, q, k, k, mask, 1, &y)), Invalid("mask"));
  EXPECT_EQ(GraphText(), before);
  EXPECT_EQ(y, 0u);
  ASSERT_EQ(Text(tailor_graph_exp(graph, q, &y)), "OK");
  EXPECT_EQ(TypeText(y), "12 B D");
}

TEST_F(CompilerOps, SpatialBuildersReadTheirOptions) {
  tailor_dim n = 0, h = 0, low[2] = {}, size[2] = {};
  ASSERT_EQ(Text(tailor_graph_symbol(graph, "N", 1, nullptr, &n)), "OK");
  ASSERT_EQ(Text(tailor_graph_symbol(graph, "H", 1, nullptr, &h)), "OK");
  ASSERT_EQ(Text(tailor_graph_dim(graph, 1, &low[0])), "OK");
  ASSERT_EQ(Text(tailor_graph_dim(graph, 3, &size[0])), "OK");
  low[1] = low[0], size[1] = size[0];
  const tailor_dim image_dims[] = {n, size[0], h, h}, weight_dims[] = {size[0], size[0], size[0], size[0]};
  tailor_value image = 0, weights = 0, y = 0;
  ASSERT_EQ(Text(tailor_graph_input(graph, "image", 5, TAILOR_F32, image_dims, 4, &image)), "OK");
  ASSERT_EQ(Text(tailor_graph_input(graph, "weights", 7, TAILOR_F32, weight_dims, 4, &weights)), "OK");
  const int64_t strides[] = {2, 1};
  tailor_spatial_options options;
  tailor_spatial_options_init(&options);
  options.rank = 2;
  options.strides = strides;
  options.low = low;
  EXPECT_EQ(Text(tailor_graph_conv(graph, image, weights, 0, 1, &options, &y)), "OK");
  EXPECT_THAT(GraphText(), HasSubstr("f32[N, 3, floordiv(H, 2), max(0, H - 1)]"));
  EXPECT_EQ(Text(tailor_graph_max_pool(graph, image, size, 2, &options, &y)), "OK");
  EXPECT_EQ(Text(tailor_graph_average_pool(graph, image, size, 2, 1, &options, &y)), "OK");
  EXPECT_EQ(Text(tailor_graph_conv(graph, image, weights, 0, 1, nullptr, &y)), "OK");
  y = 0;
  EXPECT_THAT(Text(tailor_graph_conv(graph, image, foreign, 0, 1, nullptr, &y)),
              Invalid("conv: weights is a value of"));
  EXPECT_THAT(Text(tailor_graph_max_pool(graph, image, nullptr, 2, nullptr, &y)), Invalid("max_pool: sizes is null"));
  options.high = &b;
  options.rank = 1;
  EXPECT_THAT(Text(tailor_graph_average_pool(graph, image, size, 2, 0, &options, &y)),
              Invalid("strides has 1 entries"));
  options.struct_size = 3;
  EXPECT_THAT(Text(tailor_graph_conv(graph, image, weights, 0, 1, &options, &y)), Invalid("struct_size"));
  EXPECT_EQ(y, 0u);
}

TEST_F(CompilerOps, ScalarsAreRounded) {
  tailor_value y = 0;
  ASSERT_EQ(Text(tailor_graph_scalar(graph, TAILOR_I8, 300, &y)), "OK");
  EXPECT_THAT(GraphText(), HasSubstr("constant 127 : i8[]"));
  EXPECT_THAT(Text(tailor_graph_scalar(graph, -1, 0, &y)), Invalid("dtype is -1"));
}

void Count(void* user) { ++*static_cast<int*>(user); }

TEST_F(CompilerOps, ABorrowedConstantIsReleasedWithItsGraph) {
  alignas(8) const float data[] = {1, 2};
  const int64_t two = 2;
  int released = 0;
  tailor_value y = 0;
  ASSERT_EQ(Text(tailor_graph_constant(graph, "c", 1, TAILOR_F32, &two, 1, data, 8, Count, &released, &y)), "OK");
  EXPECT_EQ(TypeText(y), "12 2");
  EXPECT_EQ(released, 0);
  tailor_graph_release(graph);
  graph = nullptr;
  EXPECT_EQ(released, 1);
}

TEST_F(CompilerOps, AFailedConstantIsReleasedOnce) {
  alignas(8) const float data[] = {1, 2};
  const int64_t two = 2, minus = -1, nine[9] = {};
  tailor_value y = 0;
  struct Case {
    tailor_graph* graph;
    const char* name;
    int32_t dtype;
    const int64_t* dims;
    size_t rank;
    const void* data;
    size_t size;
    tailor_value* out;
    const char* message;
  };
  const char* bytes = reinterpret_cast<const char*>(data);
  const Case cases[] = {
      {nullptr, "c", TAILOR_F32, &two, 1, data, 8, &y, "graph is null"},
      {NoGraph(), "c", TAILOR_F32, &two, 1, data, 8, &y, "another kind"},
      {graph, "c", TAILOR_F32, &two, 1, data, 8, nullptr, "out is null"},
      {graph, "\xFF", TAILOR_F32, &two, 1, data, 8, &y, "UTF-8"},
      {graph, "c", 14, &two, 1, data, 8, &y, "dtype is 14"},
      {graph, "c", TAILOR_F32, nullptr, 1, data, 8, &y, "dims is null"},
      {graph, "c", TAILOR_F32, nine, 9, data, 8, &y, "rank 9"},
      {graph, "c", TAILOR_F32, &minus, 1, data, 8, &y, "constant dim sizes"},
      {graph, "c", TAILOR_F32, &two, 1, nullptr, 8, &y, "data is null"},
      {graph, "c", TAILOR_F32, &two, 1, data, 7, &y, "7"},
      {graph, "c", TAILOR_F32, &two, 1, bytes + 1, 8, &y, "not aligned"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.message);
    int released = 0;
    EXPECT_THAT(Text(tailor_graph_constant(c.graph, c.name, SIZE_MAX, c.dtype, c.dims, c.rank, c.data, c.size, Count,
                                           &released, c.out)),
                Invalid(c.message));
    EXPECT_EQ(released, 1);
  }
  EXPECT_EQ(y, 0u);
}

TEST_F(CompilerOps, AWrongSizeIsRefusedBeforeCopying) {
  const float data[] = {1, 2};
  const int64_t two = 2, huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  tailor_value y = 0;
  for (size_t size : {size_t{0}, size_t{7}, size_t{16}, SIZE_MAX}) {
    EXPECT_THAT(Text(tailor_graph_constant(graph, "c", 1, TAILOR_F32, &two, 1, data, size, nullptr, nullptr, &y)),
                Invalid("\"c\""));
  }
  EXPECT_THAT(Text(tailor_graph_constant(graph, "c", 1, TAILOR_F32, huge, 2, data, 8, nullptr, nullptr, &y)),
              Invalid("\"c\""));
  EXPECT_EQ(y, 0u);
}

TEST_F(CompilerOps, ACopiedConstantOutlivesItsBytes) {
  std::vector<float> data = {1, 2};
  const int64_t two = 2;
  tailor_value y = 0;
  ASSERT_EQ(Text(tailor_graph_constant(graph, "", 0, TAILOR_F32, &two, 1, data.data(), 8, nullptr, nullptr, &y)), "OK");
  const std::string before = GraphText();
  std::fill(data.begin(), data.end(), NAN);
  EXPECT_EQ(GraphText(), before);
}

}  // namespace
}  // namespace tailor
