// Conv and ConvTranspose.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "bindings/onnx/convolution.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"
#include "bindings/onnx/quantization.h"

namespace tailor::onnx {

namespace {

using frontend::Dim;
using frontend::Dims;
using frontend::Fail;
using frontend::Shape;
using frontend::Tensor;
using Ints = std::vector<int64_t>;

Tensors Conv(const Node& node) {
  const Shape sizes = SpatialDims(node[1]);
  if (node.Has("kernel_shape")) {
    const Ints kernel = node.Ints("kernel_shape");
    const auto fits = [&](const Dim& size, int64_t given) { return node.dims().IsEqual(size, given) != false; };
    if (!std::equal(sizes.begin(), sizes.end(), kernel.begin(), kernel.end(), fits)) {
      Fail("kernel_shape differs from the weight's shape");
    }
  }
  if (const auto quantized = QuantizedConvolution(node, node[0], node[1], node[2])) return {*quantized};
  return {Convolution(node, node[0], node[1], node.Int("group"), node[2])};
}

// A transposed convolution: each input is multiplied with the weight [C, M / groups, K...], and the products add up
// where they overlap, `strides` apart.
struct Transposed {
  Tensor x, weight;
  int64_t groups;
  Shape kernel;
  Ints strides, dilations;
  // Cut off before and after each dim of the full result; then `extra` is added after it.
  Shape before, after;
  Ints extra;

  size_t rank() const { return strides.size(); }
  const Dim& size(size_t i) const { return x.shape()[i + 2]; }
};

// `count` integers of at least `min`, and in 31 bits.
Ints ListOf(const Node& node, const char* name, size_t count, int64_t min) {
  Ints values = node.Ints(name, Ints(count, min));
  if (values.size() != count) {
    Fail(std::to_string(values.size()) + " " + name + " for " + std::to_string(count) + " dims");
  }
  for (int64_t value : values) {
    if (value < min || value > frontend::kLargestDim) {
      Fail(std::string(name) + " has " + std::to_string(value) + ", not " + std::to_string(min) + " to 2^31 - 1");
    }
  }
  return values;
}

// Sets `before` and `after` so that the result has the sizes `wanted`.
void CutTo(const Node& node, const Shape& wanted, Transposed& conv) {
  Dims& dims = node.dims();
  const bool upper = node.String("auto_pad") == "SAME_UPPER";
  for (size_t i = 0; i < conv.rank(); ++i) {
    const Dim reach = dims.Add(dims.Mul(dims.Sub(conv.kernel[i], 1), conv.dilations[i]), 1 + conv.extra[i]);
    const Dim full = dims.Add(dims.Mul(dims.Sub(conv.size(i), 1), conv.strides[i]), reach);
    const Dim total = dims.Sub(full, wanted[i]);
    const Dim cut = dims.Max(total, 0);  // what is missing, not cut, is added behind
    const Dim half = dims.FloorDiv(cut, 2);
    conv.before.push_back(upper ? half : dims.Sub(cut, half));
    conv.after.push_back(dims.Sub(total, conv.before[i]));
  }
}

void SetCuts(const Node& node, Transposed& conv) {
  const size_t rank = conv.rank();
  const std::string mode = node.String("auto_pad");
  Shape wanted;
  if (node.Has("output_shape")) {
    const Ints shape = node.Ints("output_shape");
    if (shape.size() < rank)
      Fail("output_shape has " + std::to_string(shape.size()) + " sizes, not " + std::to_string(rank));
    wanted.assign(shape.end() - static_cast<std::ptrdiff_t>(rank), shape.end());
  } else if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    for (size_t i = 0; i < rank; ++i) wanted.push_back(node.dims().Mul(conv.size(i), conv.strides[i]));
  } else {
    if (mode != "NOTSET" && mode != "VALID") Fail("unknown auto_pad \"" + mode + "\"");
    const Ints pads = node.Ints("pads", Ints(2 * rank, 0));
    if (pads.size() != 2 * rank) Fail(std::to_string(pads.size()) + " pads for " + std::to_string(rank) + " dims");
    const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
    conv.before.assign(pads.begin(), middle);
    conv.after.assign(middle, pads.end());
    return;
  }
  CutTo(node, wanted, conv);
}

// The weight [C, M / groups, K...] as that of a convolution, [M, C / groups, K...].
Tensor Exchanged(const Tensor& weight, int64_t groups) {
  Dims& dims = weight.builder().dims();
  Shape split = {groups, dims.FloorDiv(weight.dim(0), groups)};
  split.insert(split.end(), weight.shape().begin() + 1, weight.shape().end());
  Shape exchanged = {dims.Mul(groups, split[2]), split[1]};
  exchanged.insert(exchanged.end(), split.begin() + 3, split.end());
  Ints permutation = {0, 2, 1};
  for (int64_t d = 3; d < static_cast<int64_t>(split.size()); ++d) permutation.push_back(d);
  return Reshape(Transpose(Reshape(weight, split), permutation), exchanged);
}

Tensor Backwards(const Tensor& x, const Ints& axes) {
  Shape starts(x.shape().size(), 0);
  Ints steps(x.shape().size(), 1);
  for (int64_t axis : axes) {
    const auto at = static_cast<size_t>(axis);
    starts[at] = x.builder().dims().Sub(x.shape()[at], 1);
    steps[at] = -1;
  }
  return Slice(x, starts, x.shape(), steps);
}

// Phases of one dim with equally many taps: output o of the full result is of phase o % stride, whose taps are phase,
// phase + stride, ...
struct Phases {
  int64_t first, count, taps;
};

// The phases of dim i, in ranges: one, filled up with taps of zero, where two are not worth a convolution each.
std::vector<Phases> PhasesOf(const Transposed& conv, size_t i) {
  constexpr int64_t kLeastChannels = 16;
  const int64_t stride = conv.strides[i], whole = conv.kernel[i].number() / stride;
  const int64_t rest = conv.kernel[i].number() % stride;
  const Dim channels = conv.weight.dim(0), outputs = conv.weight.dim(1);
  const bool wide = channels.known() && outputs.known() &&
                    std::min(channels.number() / conv.groups, outputs.number()) >= kLeastChannels;
  if (rest == 0) return {{0, stride, whole}};
  if (whole == 0 || !wide) return {{0, stride, whole + 1}};
  return {{0, rest, whole + 1}, {rest, stride - rest, whole}};
}

// The weight [C, M / groups, K...] as [M phases..., C / groups, taps...]: a channel for each of the phases.
Tensor PhaseWeight(const Node& node, const Transposed& conv, const std::vector<Phases>& phases) {
  Dims& dims = node.dims();
  Tensor weight = conv.weight;
  for (size_t i = 0; i < conv.rank(); ++i) {
    const int64_t axis = 2 + static_cast<int64_t>(i), stride = conv.strides[i], taps = phases[i].taps;
    const int64_t present = std::min(taps * stride, conv.kernel[i].number());
    Shape high(weight.shape().size(), 0), apart = weight.shape(), joined = weight.shape();
    high[2 + i] = taps * stride - present;
    weight = Pad(SliceAxis(weight, axis, 0, present), 0, Shape(high.size(), 0), high);
    apart[2 + i] = taps;
    apart.insert(apart.begin() + axis + 1, stride);
    weight = SliceAxis(Reshape(weight, apart), axis, taps - 1, taps, -1);
    weight = SliceAxis(weight, axis + 1, phases[i].first, phases[i].count);
    Ints permutation = {0, 1, axis + 1};
    for (int64_t d = 2; d < static_cast<int64_t>(apart.size()); ++d) {
      if (d != axis + 1) permutation.push_back(d);
    }
    joined[1] = dims.Mul(joined[1], phases[i].count);
    joined[2 + i] = taps;
    weight = Reshape(Transpose(weight, permutation), joined);
  }
  return Exchanged(weight, conv.groups);
}

// [N, M, phases..., D...] of the full result, D a dim's elements of one phase. `chosen`: of the first dims.
Tensor PhaseResults(const Node& node, const Transposed& conv, const Ints& most_taps, std::vector<Phases> chosen) {
  const size_t rank = conv.rank(), i = chosen.size();
  if (i < rank) {
    std::vector<Tensor> parts;
    for (const Phases& phases : PhasesOf(conv, i)) {
      chosen.push_back(phases);
      parts.push_back(PhaseResults(node, conv, most_taps, chosen));
      chosen.pop_back();
    }
    return parts.size() == 1 ? parts[0] : Concat(parts, 2 + static_cast<int64_t>(i));
  }
  WindowOptions window;
  for (const Phases& phases : chosen) window.pads.push_back(phases.taps - 1);
  for (int64_t taps : most_taps) window.pads.push_back(taps - 1);
  const Tensor part = Convolution(node, conv.x, PhaseWeight(node, conv, chosen), conv.groups, Tensor(), window);
  Shape apart = {part.dim(0), node.dims().Mul(conv.groups, conv.weight.dim(1))};
  for (const Phases& phases : chosen) apart.push_back(phases.count);
  apart.insert(apart.end(), part.shape().begin() + 2, part.shape().end());
  return Reshape(part, apart);
}

// [N, M, strides..., D...] as [N, M, D * stride...].
Tensor Interleaved(const Node& node, const Transposed& conv, const Tensor& phases) {
  const size_t rank = conv.rank();
  Shape joined = {phases.dim(0), phases.dim(1)};
  Ints permutation = {0, 1};
  for (size_t i = 0; i < rank; ++i) {
    permutation.push_back(static_cast<int64_t>(rank + 2 + i));
    permutation.push_back(static_cast<int64_t>(2 + i));
    joined.push_back(node.dims().Mul(phases.shape()[rank + 2 + i], conv.strides[i]));
  }
  return Reshape(Transpose(phases, permutation), joined);
}

// Convolutions with a channel for each phase: outputs a stride apart have the same taps. Phases then take turns.
Tensor InPhases(const Node& node, const Transposed& conv) {
  Dims& dims = node.dims();
  Ints most_taps;
  Shape missing = {0, 0}, starts = {0, 0};
  for (size_t i = 0; i < conv.rank(); ++i) {
    const Dim taps = dims.CeilDiv(conv.kernel[i], conv.strides[i]);
    const Dim rest = dims.Sub(dims.Mul(taps, conv.strides[i]), conv.kernel[i]);
    most_taps.push_back(taps.number());
    missing.push_back(dims.Max(dims.Sub(dims.Sub(conv.extra[i], conv.after[i]), rest), 0));
    starts.push_back(conv.before[i]);
  }
  Tensor full = Interleaved(node, conv, PhaseResults(node, conv, most_taps, {}));
  full = Pad(full, 0, Shape(missing.size(), 0), missing);
  Shape wanted = {full.dim(0), full.dim(1)};
  for (size_t i = 0; i < conv.rank(); ++i) {
    const Dim last = dims.Mul(dims.Sub(conv.size(i), 1), conv.strides[i]);
    const Dim end = dims.Sub(dims.Add(dims.Add(last, conv.kernel[i]), conv.extra[i]), conv.after[i]);
    wanted.push_back(dims.Sub(end, conv.before[i]));
  }
  return Slice(full, starts, wanted);
}

// Zeros between the inputs, then a convolution with the weight backwards.
Tensor BetweenZeros(const Node& node, const Transposed& conv) {
  Dims& dims = node.dims();
  const auto rank = static_cast<int64_t>(conv.rank());
  Shape low = {0, 0}, high = {0, 0};
  Ints interior = {0, 0}, spatial;
  for (int64_t i = 0; i < rank; ++i) {
    const auto at = static_cast<size_t>(i);
    const Dim reach = dims.Mul(dims.Sub(conv.kernel[at], 1), conv.dilations[at]);
    low.push_back(dims.Sub(reach, conv.before[at]));
    high.push_back(dims.Add(dims.Sub(reach, conv.after[at]), conv.extra[at]));
    interior.push_back(conv.strides[at] - 1);
    spatial.push_back(2 + i);
  }
  const Tensor weight = Exchanged(Backwards(conv.weight, spatial), conv.groups);
  WindowOptions window;
  window.dilations = conv.dilations;
  return Convolution(node, Pad(conv.x, 0, low, high, interior), weight, conv.groups, Tensor(), window);
}

Tensors ConvTranspose(const Node& node) {
  Transposed conv{node[0], node[1], node.Int("group"), SpatialDims(node[1]), {}, {}, {}, {}, {}};
  const size_t rank = SpatialDims(conv.x).size();
  if (conv.kernel.size() != rank) Fail("the weight has another rank than the input");
  if (conv.groups < 1) Fail("group is " + std::to_string(conv.groups) + ", not at least 1");
  conv.strides = ListOf(node, "strides", rank, 1);
  conv.dilations = ListOf(node, "dilations", rank, 1);
  conv.extra = ListOf(node, "output_padding", rank, 0);
  SetCuts(node, conv);
  const auto known = [](const Dim& dim) { return dim.known(); };
  const bool splits = rank <= 3 && std::all_of(conv.kernel.begin(), conv.kernel.end(), known) &&
                      std::all_of(conv.after.begin(), conv.after.end(), known);  // of eight dims at most
  const bool in_phases = splits && conv.strides != Ints(rank, 1) && conv.dilations == Ints(rank, 1);
  const Tensor out = in_phases ? InPhases(node, conv) : BetweenZeros(node, conv);
  return {node[2] ? out + PerChannel(node[2], out.rank()) : out};
}

constexpr OperatorRow kConvolutionOperators[] = {
    {"", "Conv", 1, "X W B?", "Y",
     "auto_pad:string=NOTSET dilations:ints group:int=1 kernel_shape:ints pads:ints strides:ints", Conv},
    {"", "ConvTranspose", 1, "X W B?", "Y",
     "auto_pad:string=NOTSET dilations:ints group:int=1 kernel_shape:ints output_padding:ints output_shape:ints "
     "pads:ints strides:ints",
     ConvTranspose},
};

}  // namespace

std::span<const OperatorRow> ConvolutionOperators() { return kConvolutionOperators; }

}  // namespace tailor::onnx
