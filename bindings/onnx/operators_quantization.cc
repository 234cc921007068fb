// Quantized tensors: integers or narrow floats with a scale and a zero point.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "bindings/frontend/error.h"
#include "bindings/frontend/evaluate.h"
#include "bindings/frontend/narrow.h"
#include "bindings/onnx/convolution.h"
#include "bindings/onnx/data_types.h"
#include "bindings/onnx/matmul.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"
#include "bindings/onnx/quantization.h"

namespace tailor::onnx {
namespace {

using frontend::Array;
using frontend::Dim;
using frontend::Fail;
using frontend::Narrow;
using frontend::QuantizedSource;
using frontend::ReduceOp;
using frontend::Shape;
using frontend::Tensor;

// [C] as [C, 1...], with `behind` dims of 1; one element as rank 0.
Tensor AlongDim(const Tensor& part, int behind) {
  if (part.dim(0).is(1)) return Reshape(part, {});
  Shape shape(static_cast<size_t>(1 + std::max(behind, 0)), 1);
  shape[0] = part.dim(0);
  return Reshape(part, shape);
}

// Constant blocks, repeated for a constant x that is not empty.
Tensor RepeatedConstant(const Tensor& x, const Tensor& part, int axis, int64_t block) {
  for (int i = 0; i < x.rank(); ++i) {
    const int64_t size = x.dim(i).number(), given = part.dim(i).number();
    if (i == axis ? (size - 1) / block >= given : size != given) Fail("a scale or zero point does not fit its operand");
  }
  std::vector<int64_t> blocks(static_cast<size_t>(x.dim(axis).number()));
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<int64_t>(i) / block;
  return x.builder().Constant(EvaluateGather(*part.array(), Array::Integers(blocks), axis));
}

// Blocks of part [B...], each repeated `block` times along the axis, cut to the shape of x.
Tensor Repeated(const Node& node, const Tensor& x, const Tensor& part, int axis, int64_t block) {
  if (part.rank() != x.rank()) {
    Fail("a scale or zero point has rank " + std::to_string(part.rank()) + ", not " + std::to_string(x.rank()));
  }
  const bool constant = x.array() != nullptr && x.array()->size() > 0 && part.array() != nullptr;
  if (constant) return RepeatedConstant(x, part, axis, block);
  const auto at = static_cast<size_t>(axis);
  Shape apart = part.shape(), repeated, joined = part.shape();
  apart.insert(apart.begin() + axis + 1, 1);
  repeated = apart;
  repeated[at + 1] = block;
  joined[at] = node.dims().Mul(joined[at], block);
  const Tensor whole = Reshape(Broadcast(Reshape(part, apart), repeated), joined);
  return Slice(whole, Shape(joined.size(), 0), x.shape());
}

// Whether a scale or zero point, which may be absent, is one number for a whole tensor.
bool IsOne(const Tensor& part) { return !part || part.rank() == 0 || (part.rank() == 1 && part.dim(0).is(1)); }

// A scale or zero point as it broadcasts over x: one, one for each index of the axis, or one for each block.
Tensor PerAxis(const Node& node, const Tensor& x, const Tensor& part) {
  const int64_t block = node.Int("block_size", 0);
  if (block < 0) Fail("block_size is " + std::to_string(block));
  if (part.rank() == 0 || (block == 0 && IsOne(part))) return Reshape(part, {});
  const auto axis = static_cast<int>(node.Axis(node.Int("axis", 1), x.rank()));
  if (block > 0) return Repeated(node, x, part, axis, block);
  if (part.rank() != 1) Fail("a scale or zero point has rank " + std::to_string(part.rank()) + ", not 0 or 1");
  return AlongDim(part, x.rank() - 1 - axis);
}

}  // namespace

Tensor Quantized(const Tensor& x, const Tensor& zero, DType dtype) {
  const Tensor whole = Round(x);
  return Cast(zero ? whole + Cast(zero, whole.dtype()) : whole, dtype);
}

QuantizedTensor DynamicallyQuantized(const Tensor& x) {
  std::vector<int64_t> axes(static_cast<size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  const Tensor high = Max(Reduce(ReduceOp::kMax, x, axes), 0.0);
  const Tensor low = Min(Reduce(ReduceOp::kMin, x, axes), 0.0);
  const Tensor scale = Select(Eq(high, low), 1.0, (high - low) / 255.0);
  const Tensor zero = Quantized(-low / scale, Tensor(), DType::kU8);
  return {Quantized(x / scale, zero, DType::kU8), scale, zero};
}

Tensor Spread(const Tensor& part, int behind) { return part.rank() == 1 ? AlongDim(part, behind) : part; }

Tensor Shifted(const Tensor& x, const Tensor& zero, int behind, DType dtype) {
  const Tensor value = Cast(x, dtype);
  return zero ? value - Cast(Spread(zero, behind), dtype) : value;
}

namespace {

// The dtype of two factors without their zero points, whose sums of products are i32.
DType FactorType(const Tensor& a, const Tensor& b) {
  return SizeOf(a.dtype()) == 1 && SizeOf(b.dtype()) == 1 ? DType::kI16 : DType::kI32;
}

// (x - zero) times weights as u8 by i8: weights without their zero point, and what is left of x, whose zero point is
// subtracted from the sums.
struct ByteFactors {
  Tensor x, weights;
  Tensor zero;  // i32, spread over x; may be absent
};

// nullopt: the weights are not constant or exceed i8.
std::optional<ByteFactors> ByteFactorsOf(const Tensor& x, const Tensor& zero, int behind, const Tensor& weights,
                                         const Tensor& weight_zero, int behind_weight) {
  if (SizeOf(x.dtype()) != 1 || SizeOf(weights.dtype()) != 1) return std::nullopt;
  const Tensor shifted = Shifted(weights, weight_zero, behind_weight, DType::kI16);
  const Array* numbers = shifted.array();
  if (numbers == nullptr) return std::nullopt;
  const auto* first = numbers->as<int16_t>();
  const auto fits = [](int16_t number) { return number >= INT8_MIN && number <= INT8_MAX; };
  if (!std::all_of(first, first + numbers->size(), fits)) return std::nullopt;
  ByteFactors factors{x, Cast(shifted, DType::kI8), zero ? Cast(Spread(zero, behind), DType::kI32) : Tensor()};
  if (x.dtype() == DType::kU8) return factors;
  constexpr int64_t kOffset = 128;  // from i8 to u8
  factors.x = Cast(Cast(x, DType::kI16) + kOffset, DType::kU8);
  factors.zero = zero ? factors.zero + kOffset : x.builder().Constant(Array::Integer(DType::kI32, kOffset));
  return factors;
}

// Requires matrices.
Tensor ProductOf(const ByteFactors& factors) {
  const Tensor product = Dot(factors.x, factors.weights);
  if (!factors.zero) return product;
  const std::vector<int64_t> rows = {factors.weights.rank() - 2};
  return product - factors.zero * Reduce(ReduceOp::kSum, Cast(factors.weights, DType::kI32), rows, true);
}

constexpr int64_t kMostDepth = INT32_MAX / (UINT8_MAX * -INT8_MIN);  // sums of K products may not wrap

// Whether both are dequantized to f32, x with one scale and zero point, the weights with one or with one for each index
// of `axis`.
bool AreQuantizedAlong(int axis, const Tensor& x, const Tensor& weights) {
  const QuantizedSource *a = x.quantized(), *b = weights.quantized();
  if (a == nullptr || b == nullptr || x.dtype() != DType::kF32 || weights.dtype() != DType::kF32) return false;
  const auto along = [&](const Tensor& part) { return IsOne(part) || (part.rank() == 1 && b->axis == axis); };
  return IsOne(a->scale) && IsOne(a->zero) && along(b->scale) && along(b->zero);
}

// Sums in i32 times both scales, one after the other: their product may not be a number where each result is.
Tensor Dequantized(const Tensor& sums, const Tensor& x_scale, const Tensor& weight_scale) {
  const Tensor scaled = Cast(sums, DType::kF32) * Reshape(Cast(x_scale, DType::kF32), {});
  return scaled * Cast(weight_scale, DType::kF32);
}

bool IsDepthwise(const Tensor& weight, int64_t groups) {
  return groups > 1 && weight.rank() > 1 && weight.dim(1).is(1);
}

// The convolution of `node`, of one zero point.
Tensor ConvolutionOf(const Node& node, const ByteFactors& factors, int64_t groups) {
  const Tensor zero = factors.zero ? Reshape(factors.zero, {}) : Tensor();
  const Tensor fill = zero ? Cast(zero, DType::kU8) : Tensor();
  const Tensor sums = Convolution(node, factors.x, factors.weights, groups, Tensor(), WindowOptionsOf(node), fill);
  if (!zero) return sums;
  std::vector<int64_t> window(static_cast<size_t>(factors.weights.rank() - 1));
  std::iota(window.begin(), window.end(), 1);
  const Tensor weights = Reduce(ReduceOp::kSum, Cast(factors.weights, DType::kI32), window);
  return sums - zero * PerChannel(weights, factors.x.rank());
}

}  // namespace

std::optional<Tensor> QuantizedProduct(const Tensor& lhs, const Tensor& rhs, bool transpose_rhs) {
  if (lhs.rank() < 2 || rhs.rank() < 2) return std::nullopt;
  if (!AreQuantizedAlong(transpose_rhs ? rhs.rank() - 2 : rhs.rank() - 1, lhs, rhs)) return std::nullopt;
  const QuantizedSource *a = lhs.quantized(), *b = rhs.quantized();
  const Dim& depth = rhs.dim(transpose_rhs ? rhs.rank() - 1 : rhs.rank() - 2);
  if (!depth.known() || depth.number() > kMostDepth) return std::nullopt;
  const Tensor numbers = transpose_rhs ? Transpose(b->numbers, {1, 0}) : b->numbers;
  const Tensor zero = a->zero ? Reshape(a->zero, {}) : Tensor();
  const auto factors = ByteFactorsOf(a->numbers, zero, 0, numbers, b->zero, 0);
  if (!factors) return std::nullopt;
  return Dequantized(ProductOf(*factors), a->scale, Spread(b->scale, 0));
}

std::optional<Tensor> QuantizedConvolution(const Node& node, const Tensor& x, const Tensor& weight,
                                           const Tensor& bias) {
  const int64_t groups = node.Int("group");
  if (weight.rank() != x.rank() || x.rank() < 3 || IsDepthwise(weight, groups)) return std::nullopt;
  if (!AreQuantizedAlong(0, x, weight)) return std::nullopt;
  const QuantizedSource *a = x.quantized(), *b = weight.quantized();
  int64_t depth = 1;
  for (int i = 1; i < weight.rank(); ++i) {
    const Dim& size = weight.dim(i);
    if (!size.known() || size.number() > kMostDepth / std::max<int64_t>(depth, 1)) return std::nullopt;
    depth *= size.number();
  }
  const Tensor zero = a->zero ? Reshape(a->zero, {}) : Tensor();
  const auto factors = ByteFactorsOf(a->numbers, zero, 0, b->numbers, b->zero, weight.rank() - 1);
  if (!factors) return std::nullopt;
  const Tensor scaled = Dequantized(ConvolutionOf(node, *factors, groups), a->scale, Spread(b->scale, x.rank() - 2));
  return bias ? scaled + PerChannel(bias, x.rank()) : scaled;
}

Tensor IntegerProduct(const Tensor& a, const Tensor& a_zero, const Tensor& b, const Tensor& b_zero) {
  if (a.rank() >= 2 && b.rank() >= 2) {
    if (const auto factors = ByteFactorsOf(a, a_zero, 1, b, b_zero, 0)) return ProductOf(*factors);
  }
  const DType dtype = FactorType(a, b);
  return BatchedMatmul(Shifted(a, a_zero, 1, dtype), Shifted(b, b_zero, 0, dtype));
}

namespace {

Tensor QuantizedNarrow(const Tensor& x, const Tensor& zero, Narrow type) {
  Tensor whole = Round(x);
  if (zero) whole = whole + Cast(zero, whole.dtype());
  const auto [least, greatest] = LimitsOf(type);
  return Cast(Max(Min(whole, greatest), least), StorageOf(type)).With(type);
}

Tensors QuantizeLinear(const Node& node) {
  const Tensor &x = node[0], &zero = node[2];
  Narrow narrow = Narrow::kNone;
  DType dtype = DType::kU8;
  if (zero) {
    narrow = zero.narrow();
    dtype = zero.dtype();
  } else if (const int64_t type = node.Int("output_dtype", 0); type != 0) {
    narrow = NarrowOfDataType(type);
    if (narrow == Narrow::kNone) dtype = DTypeOfDataType(type);
  }
  const bool is_wide = x.dtype() == DType::kF32 || x.dtype() == DType::kF64;
  const Tensor wide = is_wide ? x : Cast(Decode(x), DType::kF32);
  const Tensor scaled = wide / Cast(PerAxis(node, x, Decode(node[1])), wide.dtype());
  const Tensor offset = zero ? PerAxis(node, x, Decode(zero)) : Tensor();
  if (IsNarrowFloat(narrow)) {
    const Tensor shifted = offset ? scaled + Cast(offset, scaled.dtype()) : scaled;
    return {Encode(shifted, narrow, node.Int("saturate", 1) != 0)};
  }
  return {narrow == Narrow::kNone ? Quantized(scaled, offset, dtype) : QuantizedNarrow(scaled, offset, narrow)};
}

Tensors DequantizeLinear(const Node& node) {
  const Tensor &x = node[0], &zero = node[2];
  const Tensor scale = Decode(node[1]);
  const DType numbers = IsNarrowFloat(x.narrow()) ? DType::kF32 : DType::kI32;
  Tensor shifted = Cast(Decode(x), numbers);
  if (zero) shifted = shifted - Cast(PerAxis(node, x, Decode(zero)), numbers);
  const Tensor out = Cast(shifted, DType::kF32) * Cast(PerAxis(node, x, scale), DType::kF32);
  const Tensor real = Cast(out, node.Int("output_dtype", 0) == 0 ? scale.dtype() : node.TypeOf("output_dtype"));
  if (x.narrow() != Narrow::kNone || node.Int("block_size", 0) != 0 || scale.rank() > 1) return {real};
  const int axis = IsOne(scale) && IsOne(zero) ? 0 : static_cast<int>(node.Axis(node.Int("axis", 1), x.rank()));
  return {real.WithQuantized({.numbers = x, .scale = scale, .zero = zero, .axis = axis})};
}

Tensors DynamicQuantizeLinear(const Node& node) {
  const QuantizedTensor out = DynamicallyQuantized(node[0]);
  return {out.values, out.scale, out.zero};
}

// saturate(round(total * x / y * weight) + zero) of an i32 total and the scales x, weight and y.
Tensor Requantized(const Tensor& total, const Tensor& x, const Tensor& weight, const Tensor& y, const Tensor& zero) {
  const Tensor scale = Cast(x, DType::kF32) * Cast(weight, DType::kF32) / Cast(y, DType::kF32);
  return Quantized(Cast(total, DType::kF32) * scale, Spread(zero, 1), zero.dtype());
}

Tensors MatMulInteger(const Node& node) { return {IntegerProduct(node[0], node[2], node[1], node[3])}; }

// Rows of a and columns of b may have their own scales.
Tensors QLinearMatMul(const Node& node) {
  const Tensor &a_scale = node[1], &b_scale = node[4], &y_scale = node[6];
  const Tensor product = IntegerProduct(node[0], node[2], node[3], node[5]);
  return {Requantized(product, Spread(a_scale, 1), Spread(b_scale, 0), Spread(y_scale, 1), node[7])};
}

Tensor IntegerConvolution(const Node& node, const Tensor& x, const Tensor& x_zero, const Tensor& weight,
                          const Tensor& weight_zero) {
  const int64_t groups = node.Int("group");
  if (IsOne(x_zero) && !IsDepthwise(weight, groups) && weight.rank() == x.rank()) {
    const auto factors = ByteFactorsOf(x, x_zero, 0, weight, weight_zero, weight.rank() - 1);
    if (factors) return ConvolutionOf(node, *factors, groups);
  }
  const DType dtype = FactorType(x, weight);
  const Tensor shifted = Shifted(weight, weight_zero, weight.rank() - 1, dtype);
  return Convolution(node, Shifted(x, x_zero, 0, dtype), shifted, groups, Tensor());
}

Tensors ConvInteger(const Node& node) { return {IntegerConvolution(node, node[0], node[2], node[1], node[3])}; }

// Output channels may have their own scales.
Tensors QLinearConv(const Node& node) {
  const Tensor &x = node[0], &x_scale = node[1], &weight_scale = node[4], &y_scale = node[6], &bias = node[8];
  Tensor total = IntegerConvolution(node, x, node[2], node[3], node[5]);
  if (bias) total = total + PerChannel(bias, x.rank());
  const Tensor weight_spread = Spread(weight_scale, x.rank() - 2);
  return {Requantized(total, Spread(x_scale, 0), weight_spread, Spread(y_scale, 0), node[7])};
}

constexpr OperatorRow kQuantizationRows[] = {
    {"", "ConvInteger", 10, "x w x_zero_point? w_zero_point?", "y",
     "auto_pad:string=NOTSET dilations:ints group:int=1 kernel_shape:ints pads:ints strides:ints", ConvInteger},
    {"", "DequantizeLinear", 10, "x x_scale x_zero_point?", "y", "", DequantizeLinear, kReads},
    {"", "DequantizeLinear", 13, "x x_scale x_zero_point?", "y", "axis:int=1", DequantizeLinear, kReads},
    {"", "DequantizeLinear", 21, "x x_scale x_zero_point?", "y", "axis:int=1 block_size:int=0", DequantizeLinear,
     kReads},
    {"", "DequantizeLinear", 23, "x x_scale x_zero_point?", "y", "axis:int=1 block_size:int=0 output_dtype:int=0",
     DequantizeLinear, kReads},
    {"", "DynamicQuantizeLinear", 11, "x", "y y_scale y_zero_point", "", DynamicQuantizeLinear},
    {"", "MatMulInteger", 10, "A B a_zero_point? b_zero_point?", "Y", "", MatMulInteger},
    {"", "QLinearConv", 10, "x x_scale x_zero_point w w_scale w_zero_point y_scale y_zero_point B?", "y",
     "auto_pad:string=NOTSET dilations:ints group:int=1 kernel_shape:ints pads:ints strides:ints", QLinearConv},
    {"", "QLinearMatMul", 10, "a a_scale a_zero_point b b_scale b_zero_point y_scale y_zero_point", "y", "",
     QLinearMatMul},
    {"", "QuantizeLinear", 10, "x y_scale y_zero_point?", "y", "", QuantizeLinear, kReads},
    {"", "QuantizeLinear", 13, "x y_scale y_zero_point?", "y", "axis:int=1", QuantizeLinear, kReads},
    {"", "QuantizeLinear", 19, "x y_scale y_zero_point?", "y", "axis:int=1 saturate:int=1", QuantizeLinear, kReads},
    {"", "QuantizeLinear", 21, "x y_scale y_zero_point?", "y",
     "axis:int=1 block_size:int=0 output_dtype:int=0 saturate:int=1", QuantizeLinear, kReads},
    {"", "QuantizeLinear", 23, "x y_scale y_zero_point?", "y",
     "axis:int=1 block_size:int=0 output_dtype:int=0 precision:int=0 saturate:int=1", QuantizeLinear, kReads},
    {"com.microsoft", "DequantizeLinear", 1, "x x_scale x_zero_point?", "y", "axis:int=1", DequantizeLinear, kReads},
    {"com.microsoft", "QuantizeLinear", 1, "x y_scale y_zero_point?", "y", "axis:int=1", QuantizeLinear, kReads},
};

}  // namespace

std::span<const OperatorRow> QuantizationOperators() { return kQuantizationRows; }

}  // namespace tailor::onnx
