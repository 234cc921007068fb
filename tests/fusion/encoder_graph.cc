#include "tests/fusion/encoder_graph.h"

#include <cstdlib>
#include <iostream>
#include <memory>

#include "graph/builders.h"

namespace tailor {
namespace {

template <typename T>
T Must(absl::StatusOr<T> result) {
  if (!result.ok()) {
    std::cerr << result.status() << std::endl;
    std::abort();
  }
  return *std::move(result);
}

}  // namespace

DimExpr EncoderGraph::Symbol(const char* name, int64_t max) {
  SymbolInfo info;
  info.name = name;
  info.min = 1;
  info.max = max;
  return DimExpr::Symbol(Must(graph.AddSymbol(info)));
}

Value EncoderGraph::Input(const std::string& name, Shape shape, DType dtype) {
  return Must(graph.AddInput(name, dtype, std::move(shape)));
}

Value EncoderGraph::Constant(const std::string& name, std::vector<int64_t> shape) {
  int64_t count = 1;
  for (int64_t dim_size : shape) count *= dim_size;
  auto numbers = std::make_shared<std::vector<float>>(count, static_cast<float>(++constants_));
  const void* data = numbers->data();
  return Must(graph.AddConstant(name, DType::kF32, Shape(shape.begin(), shape.end()),
                                {numbers, data, static_cast<uint64_t>(count) * 4, {}}));
}

Value EncoderGraph::Apply(OpKind op, std::vector<Value> operands, Attributes attributes) {
  return {Must(graph.Append(op, operands, std::move(attributes))), 0};
}

const Graph& EncoderGraph::Return(Value value) {
  if (!graph.AddOutput("y", value).ok()) std::abort();
  return graph;
}

Value EncoderGraph::Embeddings() {
  Value ids = Input("ids", {B, S}, DType::kI64);
  Value word = Constant("word", {1000, 384}), position = Constant("position", {512, 384});
  Value positions = Apply(OpKind::kSlice, {position}, {{"starts", Shape{0, 0}}, {"sizes", Shape{S, 384}}});
  Value sum = Apply(OpKind::kAdd, {Apply(OpKind::kGather, {word, ids}), positions});
  return LayerNormOf(sum);
}

Value EncoderGraph::LayerNormOf(Value x) {
  return Must(LayerNorm(graph, x, Constant("", {384}), Constant("", {384}), 1e-12));
}

Value EncoderGraph::Linear(Value x, int64_t columns, int64_t rows) {
  Value matmul = Apply(OpKind::kDot, {x, Constant("", {columns, rows})}, {{"transpose_rhs", int64_t{1}}});
  return Apply(OpKind::kAdd, {matmul, Constant("", {columns})});
}

Value EncoderGraph::Heads(Value x) {
  Value split = Apply(OpKind::kReshape, {x}, {{"shape", Shape{B, S, 12, 32}}});
  return Apply(OpKind::kTranspose, {split}, {{"permutation", std::vector<int64_t>{0, 2, 1, 3}}});
}

Value EncoderGraph::AttentionOf(Value query, Value key, Value value, Value mask) {
  Value context = Must(Attention(graph, Heads(query), Heads(key), Heads(value), mask, 0));
  Value rows = Apply(OpKind::kTranspose, {context}, {{"permutation", std::vector<int64_t>{0, 2, 1, 3}}});
  return Apply(OpKind::kReshape, {rows}, {{"shape", Shape{B, S, 384}}});
}

Value EncoderGraph::Layer(Value x, Value mask) {
  Value query = Linear(x, 384, 384), key = Linear(x, 384, 384), value = Linear(x, 384, 384);
  Value context = AttentionOf(query, key, value, mask);
  x = LayerNormOf(Apply(OpKind::kAdd, {Linear(context, 384, 384), x}));
  Value wide = Must(GeluErf(graph, Linear(x, 1536, 384)));
  return LayerNormOf(Apply(OpKind::kAdd, {Linear(wide, 384, 1536), x}));
}

Value EncoderGraph::Pooled(Value x, Value mask) {
  Value column = Apply(OpKind::kReshape, {mask}, {{"shape", Shape{B, S, 1}}});
  std::vector<int64_t> axes = {1};
  Value sum = Apply(OpKind::kReduceSum, {Apply(OpKind::kMul, {x, column})}, {{"axes", axes}});
  Value count = Apply(OpKind::kReduceSum, {column}, {{"axes", axes}});
  Value least = Must(ScalarConstant(graph, DType::kF32, 1e-9));
  Value mean = Apply(OpKind::kDiv, {sum, Apply(OpKind::kMax, {count, least})});
  return Must(L2Normalize(graph, mean, -1, 1e-12));
}

Value EncoderGraph::Encoder(int layers) {
  Value x = Embeddings();
  Value mask = Apply(OpKind::kCast, {Input("mask", {B, S}, DType::kI64)}, {{"dtype", DType::kF32}});
  Value one = Must(ScalarConstant(graph, DType::kF32, 1)), large = Must(ScalarConstant(graph, DType::kF32, -1e9));
  Value keys = Apply(OpKind::kReshape, {mask}, {{"shape", Shape{B, 1, 1, S}}});
  Value bias = Apply(OpKind::kMul, {Apply(OpKind::kSub, {one, keys}), large});
  for (int i = 0; i < layers; ++i) x = Layer(x, bias);
  return Pooled(x, mask);
}

}  // namespace tailor
