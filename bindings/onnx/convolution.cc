#include "bindings/onnx/convolution.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tailor::onnx {

using frontend::Dim;
using frontend::Dims;
using frontend::Fail;
using frontend::Operand;
using frontend::Shape;
using frontend::Tensor;
using frontend::Unsupported;

namespace {

// Sizes, strides and dilations stay in 31 bits, so that products of two of them stay in 64.
void CheckPositive(const std::vector<int64_t>& values) {
  for (int64_t value : values) {
    if (value < 1) Fail("a window's sizes, strides and dilations have to be positive");
    if (value > frontend::kLargestDim) Fail("a window's size, stride or dilation of " + std::to_string(value));
  }
}

bool IsHalf(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// tailor_graph_conv would round each product to 16 bits before the sum.
Tensor DepthwiseThroughF32(const Window& window, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Shape taps = {weight.dim(0)};
  taps.insert(taps.end(), static_cast<size_t>(window.rank()), 1);
  taps.insert(taps.end(), window.sizes().begin(), window.sizes().end());
  const Tensor products = Cast(window.View(window.Pad(x, 0)), DType::kF32) * Cast(Reshape(weight, taps), DType::kF32);
  const Tensor total = Cast(Reduce(frontend::ReduceOp::kSum, products, window.inner()), x.dtype());
  return bias ? total + PerChannel(bias, x.rank()) : total;
}

}  // namespace

WindowOptions WindowOptionsOf(const Node& node) {
  WindowOptions options;
  options.strides = node.Ints("strides", {});
  options.dilations = node.Ints("dilations", {});
  options.pads = node.Ints("pads", {});
  if (node.Has("auto_pad")) options.auto_pad = node.String("auto_pad");
  options.ceil_mode = node.Int("ceil_mode", 0) != 0;
  return options;
}

Shape SpatialDims(const Tensor& x) {
  if (x.rank() < 3) Fail("the input has rank " + std::to_string(x.rank()) + ", but needs spatial dims");
  return Shape(x.shape().begin() + 2, x.shape().end());
}

Window::Window(const Node& node, Shape spatial, std::vector<int64_t> sizes, WindowOptions options)
    : node_(node), spatial_(std::move(spatial)), sizes_(std::move(sizes)), options_(std::move(options)) {
  const size_t count = sizes_.size();
  if (count == 0) Fail("a window needs at least one dim");
  if (options_.strides.empty()) options_.strides.assign(count, 1);
  if (options_.dilations.empty()) options_.dilations.assign(count, 1);
  if (options_.pads.empty()) options_.pads.assign(2 * count, 0);
  if (spatial_.size() != count || options_.strides.size() != count || options_.dilations.size() != count) {
    Fail(std::to_string(spatial_.size()) + " spatial dims, but a window of " + std::to_string(count) + " dims, " +
         std::to_string(options_.strides.size()) + " strides and " + std::to_string(options_.dilations.size()) +
         " dilations");
  }
  for (const auto* values : {&sizes_, &options_.strides, &options_.dilations}) CheckPositive(*values);
  for (size_t i = 0; i < count; ++i) reach_.push_back((sizes_[i] - 1) * options_.dilations[i] + 1);
  SetPads();
}

void Window::SetPads() {
  const size_t count = sizes_.size();
  const std::string& mode = options_.auto_pad;
  low_ = high_ = Shape(count, 0);
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    for (size_t i = 0; i < count; ++i) {
      const Dim total = SamePadding(i), half = node_.dims().FloorDiv(total, 2);
      low_[i] = mode == "SAME_UPPER" ? half : node_.dims().Sub(total, half);
      high_[i] = node_.dims().Sub(total, low_[i]);
    }
  } else if (mode == "NOTSET") {
    if (options_.pads.size() != 2 * count) {
      Fail(std::to_string(options_.pads.size()) + " pads for " + std::to_string(count) + " dims");
    }
    for (size_t i = 0; i < count; ++i) {
      low_[i] = options_.pads[i];
      high_[i] = options_.pads[i + count];
    }
  } else if (mode != "VALID") {
    Fail("unknown auto_pad \"" + mode + "\"");
  }
  for (size_t i = 0; options_.ceil_mode && i < count; ++i) high_[i] = CeilHigh(i);
}

// The padding that gives ceil(dim / stride) positions.
Dim Window::SamePadding(size_t i) const {
  Dims& dims = node_.dims();
  const int64_t stride = options_.strides[i];
  const Dim steps = dims.Mul(dims.Sub(dims.CeilDiv(spatial_[i], stride), 1), stride);
  return dims.Max(dims.Sub(dims.Add(steps, reach_[i]), spatial_[i]), 0);
}

// Padding after a dim that completes the last window which starts inside the input or before it.
Dim Window::CeilHigh(size_t i) const {
  Dims& dims = node_.dims();
  const int64_t stride = options_.strides[i];
  const Dim front = dims.Add(spatial_[i], low_[i]);
  const Dim room = dims.Sub(dims.Add(front, high_[i]), reach_[i]);
  const Dim within = dims.FloorDiv(dims.Sub(front, 1), stride);
  const Dim last = dims.Min(dims.CeilDiv(room, stride), within);
  return dims.Sub(dims.Add(dims.Mul(last, stride), reach_[i]), front);
}

std::vector<int64_t> Window::axes() const {
  std::vector<int64_t> axes(sizes_.size());
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

std::vector<int64_t> Window::inner() const {
  std::vector<int64_t> axes(sizes_.size());
  std::iota(axes.begin(), axes.end(), 2 + rank());
  return axes;
}

void Window::DemandElements() const {
  Demand(spatial_, std::vector<int64_t>(spatial_.size(), 1), "the input along dim");
}

void Window::DemandFit() const {
  Shape padded;
  for (size_t i = 0; i < spatial_.size(); ++i) {
    padded.push_back(node_.dims().Add(node_.dims().Add(spatial_[i], low_[i]), high_[i]));
  }
  Demand(padded, reach_, "the padded input along dim");
}

void Window::Demand(const Shape& present, const std::vector<int64_t>& least, const std::string& what) const {
  for (size_t i = 0; i < present.size(); ++i) {
    const std::string named = what + " " + std::to_string(i + 2);
    if (!present[i].known()) {
      node_.dims().AssumeAtLeast(present[i], least[i], node_.Label() + ", " + named);
    } else if (present[i].number() < least[i]) {
      Fail(named + " has " + std::to_string(present[i].number()) + " elements, but has to have " +
           std::to_string(least[i]));
    }
  }
}

Tensor Window::Pad(const Tensor& x, const Operand& fill) const {
  Shape low = {0, 0}, high = {0, 0};
  low.insert(low.end(), low_.begin(), low_.end());
  high.insert(high.end(), high_.begin(), high_.end());
  return frontend::Pad(x, fill, low, high);
}

Tensor Window::View(const Tensor& padded) const {
  return frontend::Window(padded, axes(), Shape(sizes_.begin(), sizes_.end()), strides(), dilations());
}

// Fails where channels of input and weight are known not to fit the groups.
void CheckChannels(const Node& node, const Tensor& x, const Tensor& weight, int64_t groups) {
  Dims& dims = node.dims();
  if (dims.IsEqual(x.dim(1), dims.Mul(weight.dim(1), groups)) == false) {
    Fail("the input has " + dims.Text(x.dim(1)) + " channels, the weight " + dims.Text(weight.dim(1)) +
         " for each of " + std::to_string(groups) + " groups");
  }
  if (weight.dim(0).known() && weight.dim(0).number() % groups != 0) {
    Fail(dims.Text(weight.dim(0)) + " output channels do not divide into " + std::to_string(groups) + " groups");
  }
}

Tensor Convolution(const Node& node, const Tensor& x, const Tensor& weight, int64_t groups, const Tensor& bias,
                   const WindowOptions& options, const Tensor& fill) {
  if (weight.rank() != x.rank()) {
    Fail("the weight has rank " + std::to_string(weight.rank()) + ", the input " + std::to_string(x.rank()));
  }
  if (groups < 1) Fail("group is " + std::to_string(groups) + ", not at least 1");
  std::vector<int64_t> sizes;
  for (const Dim& size : SpatialDims(weight)) {
    if (!size.known()) Unsupported("a window whose size is not known is not supported");
    sizes.push_back(size.number());
  }
  const Window window(node, SpatialDims(x), sizes, options);
  CheckChannels(node, x, weight, groups);
  window.DemandFit();
  const bool depthwise = groups > 1 && weight.dim(1).is(1) && weight.dim(0).is(groups);
  if (depthwise && IsHalf(x.dtype())) return DepthwiseThroughF32(window, x, weight, bias);
  if (fill) {
    const Shape none(sizes.size(), 0);
    return Conv(window.Pad(x, fill), weight, bias, groups, window.strides(), window.dilations(), none, none);
  }
  return Conv(x, weight, bias, groups, window.strides(), window.dilations(), window.low(), window.high());
}

Tensor Convolution(const Node& node, const Tensor& x, const Tensor& weight, int64_t groups, const Tensor& bias) {
  return Convolution(node, x, weight, groups, bias, WindowOptionsOf(node));
}

Tensor PerChannel(const Tensor& value, int rank) {
  Shape shape = value.shape();
  if (shape.size() != 1) Fail("numbers for channels have rank " + std::to_string(shape.size()) + ", not 1");
  shape.insert(shape.end(), static_cast<size_t>(std::max(rank - 2, 0)), 1);
  return Reshape(value, shape);
}

}  // namespace tailor::onnx
