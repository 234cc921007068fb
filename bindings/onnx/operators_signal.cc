// Windows and spectra. Fourier transforms are products with matrices of cosines and sines.
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "bindings/frontend/error.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Array;
using frontend::Builder;
using frontend::Concat;
using frontend::Dim;
using frontend::Dims;
using frontend::Fail;
using frontend::Shape;
using frontend::Tensor;
using frontend::Unsupported;

constexpr double kTau = 2 * std::numbers::pi;
// Tables of at most so many elements are constants; runs compute larger ones.
constexpr int64_t kMaxTable = int64_t{1} << 20;

// The one element of an operand as a dim; a run where it is below `min` fails.
Dim OneDim(const Node& node, const Tensor& tensor, const std::string& what, int64_t min = 0) {
  const auto parts = node.Parts(tensor, what);
  if (parts.size() != 1) Fail(what + " has " + std::to_string(parts.size()) + " elements, not 1");
  const Dim dim = node.builder().DimOf(parts[0], min);
  if (dim.known() && dim.number() < min) Fail(what + " is " + std::to_string(dim.number()));
  return dim;
}

Tensor NumberAs(Builder& builder, const Dim& dim, DType dtype) { return Cast(builder.Number(dim), dtype); }

// 0, 1, ... in f64.
Tensor Counting(Builder& builder, const Dim& count) {
  if (!count.known() || count.number() < 0 || count.number() > kMaxTable) {
    return Iota(builder, {count}, 0, DType::kF64);
  }
  Array array = Array::New(DType::kF64, {count.number()});
  for (int64_t i = 0; i < array.size(); ++i) array.set_integer(i, i);
  return builder.Constant(std::move(array));
}

// a0 - a1 cos(t) + a2 cos(2 t), where t goes from 0 to 2 pi in `size` steps, or size - 1 if not periodic.
Tensors CosineWindow(const Node& node, double a0, double a1, double a2) {
  const Dim size = OneDim(node, node[0], "the size");
  Builder& builder = node.builder();
  const Dim steps = node.Flag("periodic") ? size : node.dims().Sub(size, 1);
  const Tensor angle = Counting(builder, size) * (kTau / NumberAs(builder, steps, DType::kF64));
  const Tensor window = a0 - Cos(angle) * a1 + Cos(angle * 2.0) * a2;
  return {Cast(window, node.TypeOf("output_datatype"))};
}

Tensors HannWindow(const Node& node) { return CosineWindow(node, 0.5, 0.5, 0); }
Tensors HammingWindow(const Node& node) { return CosineWindow(node, 25.0 / 46, 21.0 / 46, 0); }
Tensors BlackmanWindow(const Node& node) { return CosineWindow(node, 0.42, 0.5, 0.08); }

// Complex numbers; `imaginary` may be absent: zeros.
struct Complex {
  Tensor real, imaginary;
};

// 2 pi i k / rows for i < rows, k < columns in f64.
Tensor Angles(Builder& builder, const Dim& rows, const Dim& columns) {
  const bool known = rows.known() && columns.known() && rows.number() > 0 && columns.number() >= 0;
  if (known && columns.number() <= kMaxTable / rows.number()) {
    const int64_t n = rows.number(), m = columns.number();
    Array turns = Array::New(DType::kF64, {n, m});
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t k = 0; k < m; ++k)
        turns.set(i * m + k, kTau * static_cast<double>(i * k % n) / static_cast<double>(n));
    }
    return builder.Constant(std::move(turns));
  }
  const Tensor count = builder.Number(rows);
  const Tensor turns = Mod(Iota(builder, {rows, 1}, 0, DType::kI64) * Iota(builder, {columns}, 0, DType::kI64), count);
  return Cast(turns, DType::kF64) / Cast(count, DType::kF64) * kTau;
}

// The first `columns` elements of the transform along the last axis of x [shape].
Complex Transform(const Node& node, const Complex& x, const Shape& shape, const Dim& columns, bool inverse) {
  Builder& builder = node.builder();
  const DType dtype = x.real.dtype();
  const Dim& length = shape.back();
  const Tensor angles = Angles(builder, length, columns);
  const Tensor cosine = Cast(Cos(angles), dtype);
  const Tensor sine = Cast(Sin(angles) * (inverse ? 1.0 : -1.0), dtype);
  const Shape outer(shape.begin(), shape.end() - 1);
  const Shape rows = {node.dims().Product(outer), length};

  const Tensor real = Reshape(x.real, rows);
  Complex out = {Dot(real, cosine), Dot(real, sine)};
  if (x.imaginary) {
    const Tensor imaginary = Reshape(x.imaginary, rows);
    out = {out.real - Dot(imaginary, sine), out.imaginary + Dot(imaginary, cosine)};
  }
  if (inverse) {
    const Tensor count = NumberAs(builder, length, dtype);
    out = {out.real / count, out.imaginary / count};
  }
  Shape result = outer;
  result.push_back(columns);
  return {Reshape(out.real, result), Reshape(out.imaginary, result)};
}

std::vector<int64_t> SwappedWithLast(size_t rank, size_t axis) {
  std::vector<int64_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(i);
  std::swap(order[axis], order.back());
  return order;
}

// Element `index` of x's last dim, with `axis` of the other dims and the last one of them swapped.
Tensor PartOf(const Tensor& x, size_t axis, int64_t index) {
  const Shape dims(x.shape().begin(), x.shape().end() - 1);
  return Transpose(Reshape(SliceAxis(x, -1, index, 1), dims), SwappedWithLast(dims.size(), axis));
}

// x with its last axis cut, or filled with zeros, to `size`. An absent x stays absent.
Tensor Fitted(const Node& node, const Tensor& x, const Dim& size) {
  if (!x) return x;
  const Dim missing = node.dims().Sub(size, x.dim(-1));
  if (missing.is(0)) return x;
  Shape high(x.shape().size(), 0);
  high.back() = missing;
  return Pad(x, 0, Shape(high.size(), 0), high);
}

// The parts side by side in a new last axis, with `axis` back in its place.
Tensor Joined(const std::vector<Tensor>& parts, size_t axis) {
  std::vector<Tensor> columns;
  for (const Tensor& part : parts) {
    const Tensor back = Transpose(part, SwappedWithLast(part.shape().size(), axis));
    Shape shape = back.shape();
    shape.push_back(1);
    columns.push_back(Reshape(back, shape));
  }
  return Concat(columns, -1);
}

// The number of elements of a one-sided spectrum.
Dim Half(const Node& node, const Dim& size) { return node.dims().Add(node.dims().FloorDiv(size, 2), 1); }

Shape WithLast(Shape shape, const Dim& last) {
  shape.back() = last;
  return shape;
}

// The real signal of a one-sided spectrum, whose other side is its mirrored conjugate.
Tensor RealInverse(const Node& node, const Complex& half_spectrum, const Dim& size) {
  const Dim half = Half(node, size), rest = node.dims().Sub(size, half);
  const auto both = [&](const Tensor& x, bool negate) {
    if (!x) return x;
    const Tensor kept = Fitted(node, x, half), mirrored = SliceAxis(kept, -1, rest, rest, -1);
    return Concat({kept, negate ? Neg(mirrored) : mirrored}, -1);
  };
  const Complex spectrum = {both(half_spectrum.real, false), both(half_spectrum.imaginary, true)};
  return Transform(node, spectrum, WithLast(spectrum.real.shape(), size), size, true).real;
}

int64_t AxisOfDFT(const Node& node) {
  if (node.opset() < 20) return node.Int("axis");
  if (!node[2]) return -2;
  const auto axis = node.KnownInts(node[2], "the axis");
  if (axis.size() != 1) Fail("the axis has " + std::to_string(axis.size()) + " elements, not 1");
  return axis[0];
}

Tensors DFT(const Node& node) {
  const Tensor& x = node[0];
  const int rank = x.rank();
  const int64_t counted = node.Axis(AxisOfDFT(node), rank);
  if (rank < 2 || counted == rank - 1) Fail("the axis is that of real and imaginary parts");
  const auto axis = static_cast<size_t>(counted);
  const Dim& parts = x.dim(-1);
  if (!parts.known()) Unsupported("a last dim that is not known is not supported");
  if (parts.number() < 1 || parts.number() > 2) Fail("the last dim is " + std::to_string(parts.number()));
  const Complex input = {PartOf(x, axis, 0), parts.is(2) ? PartOf(x, axis, 1) : Tensor()};

  Dims& dims = node.dims();
  const bool inverse = node.Flag("inverse"), one_sided = node.Flag("onesided");
  Dim size = x.dim(static_cast<int>(axis));
  if (node[1]) {
    size = OneDim(node, node[1], "the length");
  } else if (inverse && one_sided) {
    size = dims.Mul(dims.Sub(size, 1), 2);
  }
  if (inverse && one_sided) return {Joined({RealInverse(node, input, size)}, axis)};
  const Complex fitted = {Fitted(node, input.real, size), Fitted(node, input.imaginary, size)};
  const Dim columns = one_sided ? Half(node, size) : size;
  const Complex out = Transform(node, fitted, WithLast(input.real.shape(), size), columns, inverse);
  return {Joined({out.real, out.imaginary}, axis)};
}

// Frames of the signal [N, length, 1], one every `step` elements, each transformed.
Tensors STFT(const Node& node) {
  const Tensor &x = node[0], &window = node[2];
  if (x.rank() != 2 && x.rank() != 3) Fail("the signal has rank " + std::to_string(x.rank()));
  if (window && window.rank() != 1) Fail("the window has rank " + std::to_string(window.rank()));
  Builder& builder = node.builder();
  Dims& dims = node.dims();
  if (x.rank() == 3 && dims.IsEqual(x.dim(2), 1) == false) {
    Unsupported("a transform of complex numbers is not supported yet");
  }
  const Dim hop = OneDim(node, node[1], "the step", 1);
  const Dim size = window ? window.dim(0) : OneDim(node, node[3], "the length of a frame");
  const Dim batch = x.dim(0), length = x.dim(1);
  const Dim count = dims.Add(dims.FloorDiv(dims.Sub(length, size), hop), 1);
  const Tensor starts = Iota(builder, {count, 1}, 0, DType::kI64) * builder.Number(hop);
  Tensor frames = Gather(Reshape(x, {batch, length}), starts + Iota(builder, {size}, 0, DType::kI64), 1);
  if (window) frames = frames * window;
  const Dim columns = node.Flag("onesided") ? Half(node, size) : size;
  const Complex out = Transform(node, {frames, {}}, {batch, count, size}, columns, false);
  const Shape shape = {batch, count, columns, 1};
  return {Concat({Reshape(out.real, shape), Reshape(out.imaginary, shape)}, -1)};
}

// Triangles over the spectrum, even on the mel scale: [length / 2 + 1, bins].
Tensors MelWeightMatrix(const Node& node) {
  Builder& builder = node.builder();
  Dims& dims = node.dims();
  const Dim bins = OneDim(node, node[0], "the number of bands"), size = OneDim(node, node[1], "the length");
  const auto number = [&](int operand) { return Cast(node.ScalarOf(node[operand]), DType::kF64); };
  const double mels_per_octave = 2595 / std::numbers::ln10;
  const auto mel = [&](const Tensor& hertz) { return Log(hertz / 700.0 + 1.0) * mels_per_octave; };

  const Tensor low = mel(number(3)), high = mel(number(4));
  const Dim count = dims.Add(bins, 2);
  const Tensor mels = Counting(builder, count) * ((high - low) / NumberAs(builder, count, DType::kF64)) + low;
  const Tensor hertz = (Exp(mels / mels_per_octave) - 1.0) * 700.0;
  const Tensor points = Floor((number(1) + 1.0) * hertz / number(2));
  const Tensor left = SliceAxis(points, 0, 0, bins), center = SliceAxis(points, 0, 1, bins);
  const Tensor right = SliceAxis(points, 0, 2, bins);
  const Dim half = Half(node, size);
  const Tensor place = Reshape(Counting(builder, half), {half, 1});
  const Tensor rising = (place - left) / (center - left), falling = (right - place) / (right - center);
  Tensor out = Select((place >= left) & (place < center), rising, 0.0);
  out = Select((place >= center) & (place < right), falling, out);
  out = Select(Eq(place, center), 1.0, out);
  return {Cast(out, node.TypeOf("output_datatype"))};
}

constexpr OperatorRow kSignalRows[] = {
    {"", "BlackmanWindow", 17, "size", "output", "output_datatype:int=1 periodic:int=1", BlackmanWindow},
    {"", "DFT", 17, "input dft_length?", "output", "axis:int=1 inverse:int=0 onesided:int=0", DFT},
    {"", "DFT", 20, "input dft_length? axis?", "output", "inverse:int=0 onesided:int=0", DFT},
    {"", "HammingWindow", 17, "size", "output", "output_datatype:int=1 periodic:int=1", HammingWindow},
    {"", "HannWindow", 17, "size", "output", "output_datatype:int=1 periodic:int=1", HannWindow},
    {"", "MelWeightMatrix", 17, "num_mel_bins dft_length sample_rate lower_edge_hertz upper_edge_hertz", "output",
     "output_datatype:int=1", MelWeightMatrix},
    {"", "STFT", 17, "signal frame_step window? frame_length?", "output", "onesided:int=1", STFT},
};

}  // namespace

std::span<const OperatorRow> SignalOperators() { return kSignalRows; }

}  // namespace tailor::onnx
