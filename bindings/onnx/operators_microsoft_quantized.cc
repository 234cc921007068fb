// Operators of onnxruntime, in domain "com.microsoft", on quantized tensors.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "bindings/onnx/convolution.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"
#include "bindings/onnx/quantization.h"

namespace tailor::onnx {
namespace {

using frontend::BinaryOp;
using frontend::Dim;
using frontend::Fail;
using frontend::Narrow;
using frontend::ReduceOp;
using frontend::Shape;
using frontend::Tensor;
using frontend::Unsupported;

// scale * (x - zero) in f32, where `scale` is operand `first` and `zero` the next one, which may be absent.
Tensor Real(const Node& node, const Tensor& x, int first) {
  return Cast(Shifted(x, node[first + 1], 0), DType::kF32) * Spread(node[first], 0);
}

// saturate(round(x / scale) + zero), where `scale` is operand `first` and `zero` the next one. Without zero point the
// result has the type `otherwise`.
Tensor Requantized(const Node& node, const Tensor& x, int first, DType otherwise) {
  const Tensor& zero = node[first + 1];
  const Tensor scaled = x / Spread(node[first], 0);
  return Quantized(scaled, zero ? Spread(zero, 0) : Tensor(), zero ? zero.dtype() : otherwise);
}

// saturate(round(x + zero)) in the type of operand 0, where `zero` is operand 7. Sums and products round with the zero
// point in them, so that ties go where onnxruntime has them go.
Tensor RoundedWithZero(const Node& node, const Tensor& x) {
  const Tensor& zero = node[7];
  const Tensor moved = zero ? x + Cast(Spread(zero, 0), DType::kF32) : x;
  return Quantized(moved, Tensor(), node[0].dtype());
}

Tensors QLinearAdd(const Node& node) {
  const auto scaled = [&](int i) {
    return Cast(Shifted(node[i], node[i + 2], 0), DType::kF32) * (Spread(node[i + 1], 0) / Spread(node[6], 0));
  };
  return {RoundedWithZero(node, scaled(0) + scaled(3))};
}

Tensors QLinearMul(const Node& node) {
  const Tensor product = Shifted(node[0], node[2], 0) * Shifted(node[3], node[5], 0);
  const Tensor factor = Spread(node[1], 0) * Spread(node[4], 0) / Spread(node[6], 0);
  return {RoundedWithZero(node, Cast(product, DType::kF32) * factor)};
}

Tensors QLinearSigmoid(const Node& node) {
  return {Requantized(node, Sigmoid(Real(node, node[0], 1)), 3, node[0].dtype())};
}

Tensors QLinearLeakyRelu(const Node& node) {
  const Tensor x = Real(node, node[0], 1);
  return {Requantized(node, Select(x < 0, x * node.Float("alpha"), x), 3, node[0].dtype())};
}

// Before opset 13, over all dims from the axis on.
Tensors QLinearSoftmax(const Node& node) {
  const Tensor x = Real(node, node[0], 1);
  const auto axis = node.Axis(node.Int("axis"), x.rank());
  if (node.Int("opset") >= 13) return {Requantized(node, Softmax(x, axis), 3, node[0].dtype())};
  const auto middle = x.shape().begin() + axis;
  const Dim outer = node.dims().Product(Shape(x.shape().begin(), middle));
  const Dim inner = node.dims().Product(Shape(middle, x.shape().end()));
  const Tensor out = Reshape(Softmax(Reshape(x, {outer, inner}), 1), x.shape());
  return {Requantized(node, out, 3, node[0].dtype())};
}

Tensors QLinearWhere(const Node& node) {
  const Tensor x = Real(node, node[1], 2), y = Real(node, node[4], 5);
  return {Requantized(node, Select(node[0], x, y), 7, node[1].dtype())};
}

// Operands from the third on: tensor, scale and zero point of each.
Tensors QLinearConcat(const Node& node) {
  if (node.inputs() < 5 || node.inputs() % 3 != 2) {
    Fail("has " + std::to_string(node.inputs()) + " operands, not 2 and 3 for each tensor");
  }
  std::vector<Tensor> parts;
  for (int i = 2; i < node.inputs(); i += 3) {
    parts.push_back(Requantized(node, Real(node, node[i], i + 1), 0, node[1].dtype()));
  }
  return {Concat(parts, node.Axis(node.Int("axis"), parts[0].rank()))};
}

// [N, D..., C] as [N, C, D...], or back.
Tensor ChannelsMoved(const Tensor& x, bool first) {
  if (x.rank() < 3) Fail("the input has rank " + std::to_string(x.rank()) + ", but needs spatial dims");
  std::vector<int64_t> order = {0};
  if (first) order.push_back(x.rank() - 1);
  for (int64_t axis = first ? 1 : 2; axis < (first ? x.rank() - 1 : x.rank()); ++axis) order.push_back(axis);
  if (!first) order.push_back(1);
  return Transpose(x, order);
}

// Operands: x, its scale and zero point, the result's scale and zero point.
template <Tensor (*kPool)(const Node& node)>
Tensors QLinearPool(const Node& node) {
  const bool last = node.Flag("channels_last");
  const Tensor x = Real(node, node[0], 1);
  const Node real = node.With({last ? ChannelsMoved(x, true) : x});
  const Tensor out = kPool(real);
  return {Requantized(node, last ? ChannelsMoved(out, false) : out, 3, node[0].dtype())};
}

Tensor GlobalAverage(const Node& node) {
  std::vector<int64_t> axes(SpatialDims(node[0]).size());
  std::iota(axes.begin(), axes.end(), 2);
  return Reduce(ReduceOp::kMean, node[0], axes, true);
}

// total * a * b in f32 of an i32 total, with the scales a of rows and b of columns; `bias` may be absent.
Tensor Scaled(const Tensor& total, const Tensor& a, const Tensor& b, const Tensor& bias) {
  const Tensor out = Cast(total, DType::kF32) * (Cast(Spread(a, 1), DType::kF32) * Cast(Spread(b, 0), DType::kF32));
  return bias ? out + bias : out;
}

Tensors MatMulIntegerToFloat(const Node& node) {
  return {Scaled(IntegerProduct(node[0], node[4], node[1], node[5]), node[2], node[3], node[6])};
}

Tensors DynamicQuantizeMatMul(const Node& node) {
  const QuantizedTensor a = DynamicallyQuantized(node[0]);
  return {Scaled(IntegerProduct(a.values, a.zero, node[1], node[3]), a.scale, node[2], node[4])};
}

Tensor Matrix(const Tensor& x, bool transposed) {
  if (x.rank() != 2) Fail("an operand has rank " + std::to_string(x.rank()) + ", not 2");
  return transposed ? Transpose(x, {1, 0}) : x;
}

// C is in i32, of the scale of the product. Without a scale for the result, that is real.
Tensors QGemm(const Node& node) {
  const Tensor a = Matrix(node[0], node.Flag("transA")), b = Matrix(node[3], node.Flag("transB"));
  Tensor total = IntegerProduct(a, node[2], b, node[5]);
  if (node[6]) total = total + node[6];
  const Tensor out = Scaled(total, node[1] * node.Float("alpha"), node[4], Tensor());
  return {node[7] ? Requantized(node, out, 7, a.dtype()) : out};
}

// The numbers of `bits` bits in u8 [..., W], lowest bits first: [..., W * 8 / bits].
Tensor Unpacked(const Tensor& packed, int64_t bits) {
  if (packed.dtype() != DType::kU8) Fail(std::string("packed numbers in ") + NameOf(packed.dtype()) + ", not u8");
  if (packed.rank() == 0) Fail("packed numbers of rank 0");
  Shape apart = packed.shape(), joined = packed.shape();
  apart.push_back(1);
  joined.back() = packed.builder().dims().Mul(joined.back(), 8 / bits);
  std::vector<Tensor> parts;
  for (int64_t shift = 0; shift < 8; shift += bits) {
    const Tensor part = frontend::Binary(BinaryOp::kShiftRight, packed, shift) & ((int64_t{1} << bits) - 1);
    parts.push_back(Reshape(part, apart));
  }
  return Reshape(Concat(parts, packed.rank()), joined);
}

// The attributes of MatMulNBits: columns N and rows K of the weight, whose blocks lie along K.
struct Blocks {
  int64_t columns, rows, size, bits;

  int64_t count() const { return (rows - 1) / size + 1; }
};

Blocks BlocksOf(const Node& node) {
  const Blocks blocks{node.Int("N"), node.Int("K"), node.Int("block_size"), node.Int("bits")};
  for (int64_t value : {blocks.columns, blocks.rows, blocks.size}) {
    if (value < 1 || value > frontend::kLargestDim) Fail("N, K or block_size is " + std::to_string(value));
  }
  if (blocks.bits != 2 && blocks.bits != 4 && blocks.bits != 8) Unsupported(std::to_string(blocks.bits) + " bits");
  if (blocks.size * blocks.bits % 8 != 0) Fail("a block of " + std::to_string(blocks.size) + " is no whole bytes");
  return blocks;
}

// The zero points in f32 [N, blocks]: packed as the weight is, or numbers of the type of A.
Tensor ZeroPoints(const Node& node, const Blocks& blocks) {
  const Tensor& zero = node[3];
  const Shape shape = {blocks.columns, blocks.count()};
  if (!zero) return node.builder().Scalar(DType::kF32, static_cast<double>(int64_t{1} << (blocks.bits - 1)));
  if (zero.dtype() != DType::kU8) return Cast(Reshape(zero, shape), DType::kF32);
  const int64_t bytes = (blocks.count() * blocks.bits + 7) / 8;
  const Tensor numbers = Unpacked(Reshape(zero, {blocks.columns, bytes}), blocks.bits);
  return Cast(Slice(numbers, {0, 0}, shape), DType::kF32);
}

// The weight in f32 [N, K]: scale * (number - zero). `g_idx` may name the block of each row.
Tensor Weight(const Node& node, const Blocks& blocks) {
  const Shape whole = {blocks.columns, blocks.rows};
  const Tensor &packed = node[1], &index = node[4];
  const Tensor scale = Cast(Reshape(node[2], {blocks.columns, blocks.count()}), DType::kF32);
  const Tensor zero = ZeroPoints(node, blocks);
  const Tensor bytes = Reshape(packed, {blocks.columns, blocks.count(), blocks.size * blocks.bits / 8});
  const Tensor numbers = Cast(Unpacked(bytes, blocks.bits), DType::kF32);
  const Shape padded = {blocks.columns, blocks.count() * blocks.size};
  if (!index) {
    const Shape apart = {blocks.columns, blocks.count(), 1};
    const Tensor shifted = numbers - (zero.rank() == 0 ? zero : Reshape(zero, apart));
    return Slice(Reshape(shifted * Reshape(scale, apart), padded), {0, 0}, whole);
  }
  const Tensor block = SliceAxis(index, 0, 0, blocks.rows);
  const Tensor shifted = Slice(Reshape(numbers, padded), {0, 0}, whole);
  return (shifted - (zero.rank() == 0 ? zero : Gather(zero, block, 1))) * Gather(scale, block, 1);
}

Tensors MatMulNBits(const Node& node) {
  const Tensor &a = node[0], &bias = node[5];
  const Tensor out = Dot(a, Cast(Weight(node, BlocksOf(node)), a.dtype()), false, true);
  return {bias ? out + bias : out};
}

// Rows of a quantized table: the dims after the first of [V, ..., K] are dequantized in blocks along the last.
Tensors GatherBlockQuantized(const Node& node) {
  const Tensor &data = node[0], &indices = node[1], &zero = node[3];
  const int64_t size = node.Int("block_size"), bits = node.Int("bits");
  if (size < 1 || size > frontend::kLargestDim) Fail("block_size is " + std::to_string(size));
  if (bits != 4 && bits != 8) Unsupported(std::to_string(bits) + " bits");
  const int64_t last = data.rank() - 1;
  if (data.rank() < 2 || node.Axis(node.Int("gather_axis"), data.rank()) != 0 ||
      node.Axis(node.Int("quantize_axis"), data.rank()) != last) {
    Unsupported("a gather_axis other than the first or a quantize_axis other than the last");
  }
  const bool packed = data.dtype() == DType::kU8 && data.narrow() == Narrow::kNone;
  const auto rows = [&](const Tensor& x) {
    const Tensor out = Gather(Decode(x), indices);
    return packed && x.dtype() == DType::kU8 ? Unpacked(out, bits) : out;
  };
  const Tensor numbers = Cast(rows(data), DType::kF32);
  const Tensor block = Iota(node.builder(), {numbers.dim(-1)}, 0, DType::kI64) / size;
  const Tensor scale = Cast(Gather(Gather(node[2], indices), block, -1), DType::kF32);
  Tensor shifted = numbers;
  if (zero) {
    shifted = numbers - Cast(Gather(rows(zero), block, -1), DType::kF32);
  } else if (packed) {
    shifted = numbers - static_cast<double>(int64_t{1} << (bits - 1));
  }
  return {Cast(shifted * scale, node[2].dtype())};
}

// The weight [directions, inputs, gates] as numbers [directions, gates, inputs]. Scales and zero points are of each
// direction, or of each gate of it.
Tensor LayerWeight(const Tensor& weight, const Tensor& scale, const Tensor& zero) {
  if (weight.rank() != 3) Fail("a weight has rank " + std::to_string(weight.rank()) + ", not 3");
  const auto spread = [](const Tensor& part) {
    Shape shape = part.shape();
    shape.resize(std::max<size_t>(shape.size(), 3), 1);
    return Reshape(part, shape);
  };
  const Tensor numbers = Cast(Transpose(weight, {0, 2, 1}), DType::kI32) - Cast(spread(zero), DType::kI32);
  return Cast(numbers, DType::kF32) * spread(scale);
}

// The layer of numbers: its operands and states are not quantized, as they are in onnxruntime.
Tensors DynamicQuantizeLstm(const Node& node) {
  const Tensor weight = LayerWeight(node[1], node[8], node[9]), recurrence = LayerWeight(node[2], node[10], node[11]);
  return node.CallIn("", "LSTM", {node[0], weight, recurrence, node[3], node[4], node[5], node[6], node[7]},
                     node.proto().attributes, 3);
}

constexpr const char* kMicrosoftQuantizedDomain = "com.microsoft";
constexpr OperatorRow kMicrosoftQuantizedRows[] = {
    {kMicrosoftQuantizedDomain, "DynamicQuantizeLSTM", 1,
     "X W R B? sequence_lens? initial_h? initial_c? P? W_scale W_zero_point R_scale R_zero_point", "Y? Y_h? Y_c?",
     "activation_alpha:floats activation_beta:floats activations:strings clip:float direction:string=forward "
     "hidden_size:int input_forget:int=0",
     DynamicQuantizeLstm},
    {kMicrosoftQuantizedDomain, "DynamicQuantizeMatMul", 1, "A B b_scale b_zero_point? bias?", "Y", "",
     DynamicQuantizeMatMul},
    {kMicrosoftQuantizedDomain, "GatherBlockQuantized", 1, "data indices scales zero_points?", "output",
     "bits:int=4 block_size:int=128 gather_axis:int=0 quantize_axis:int=1", GatherBlockQuantized,
     OperatorRow::Narrow::kReads},
    {kMicrosoftQuantizedDomain, "MatMulIntegerToFloat", 1, "A B a_scale b_scale a_zero_point? b_zero_point? bias?", "Y",
     "", MatMulIntegerToFloat},
    {kMicrosoftQuantizedDomain, "MatMulNBits", 1, "A B scales zero_points? g_idx? bias?", "Y",
     "K:int! N:int! accuracy_level:int=0 bits:int=4 block_size:int! weight_prepacked:int=0", MatMulNBits},
    {kMicrosoftQuantizedDomain, "QGemm", 1, "A a_scale a_zero_point B b_scale b_zero_point C? y_scale? y_zero_point?",
     "Y", "alpha:float=1.0 transA:int=0 transB:int=0", QGemm},
    {kMicrosoftQuantizedDomain, "QLinearAdd", 1,
     "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point?", "C", "", QLinearAdd},
    {kMicrosoftQuantizedDomain, "QLinearAveragePool", 1, "X x_scale x_zero_point? y_scale y_zero_point?", "Y",
     "auto_pad:string=NOTSET ceil_mode:int=0 channels_last:int=0 count_include_pad:int=0 kernel_shape:ints! pads:ints "
     "strides:ints",
     QLinearPool<AveragePooled>},
    {kMicrosoftQuantizedDomain, "QLinearConcat", 1, "Y_scale Y_zero_point inputs*", "Y", "axis:int!", QLinearConcat},
    {kMicrosoftQuantizedDomain, "QLinearGlobalAveragePool", 1, "X x_scale x_zero_point y_scale y_zero_point", "Y",
     "channels_last:int=0", QLinearPool<GlobalAverage>},
    {kMicrosoftQuantizedDomain, "QLinearLeakyRelu", 1, "X X_scale X_zero_point? Y_scale Y_zero_point?", "Y",
     "alpha:float=0.01", QLinearLeakyRelu},
    {kMicrosoftQuantizedDomain, "QLinearMul", 1,
     "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point?", "C", "", QLinearMul},
    {kMicrosoftQuantizedDomain, "QLinearSigmoid", 1, "X X_scale X_zero_point? Y_scale Y_zero_point?", "Y", "",
     QLinearSigmoid},
    {kMicrosoftQuantizedDomain, "QLinearSoftmax", 1, "X X_scale x_zero_point? y_scale y_zero_point", "Y",
     "axis:int=-1 opset:int!", QLinearSoftmax},
    {kMicrosoftQuantizedDomain, "QLinearWhere", 1,
     "condition X x_scale x_zero_point Y y_scale y_zero_point z_scale z_zero_point", "Z", "", QLinearWhere},
};

}  // namespace

std::span<const OperatorRow> MicrosoftQuantizedOperators() { return kMicrosoftQuantizedRows; }

}  // namespace tailor::onnx
