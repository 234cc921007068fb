// Operators that read windows at computed places.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bindings/frontend/error.h"
#include "bindings/onnx/convolution.h"
#include "bindings/onnx/indexing.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Dim;
using frontend::Dims;
using frontend::Fail;
using frontend::ReduceOp;
using frontend::Shape;
using frontend::Tensor;
using frontend::Unsupported;

// Whether places up to 1 outside an axis count as its border, or everything outside counts 0.
enum class Outside { kBorder, kZero };

struct Corner {
  Tensor index;  // i64, inside
  Tensor weight;
};

// The two elements around each place on an axis of `size`.
std::vector<Corner> CornersOf(const Node& node, Tensor place, const Dim& size, Outside outside) {
  const Tensor last = Cast(node.builder().Number(node.dims().Sub(size, 1)), place.dtype());
  const Tensor far = (place < -1.0) | (place > last + 1.0);
  if (outside == Outside::kBorder) place = Min(Max(place, 0.0), last);
  const Tensor low = Floor(place), part = place - low;
  std::vector<Corner> corners;
  for (int i = 0; i < 2; ++i) {
    const Tensor index = i == 0 ? low : low + 1.0, inside = Max(Min(index, last), 0.0);
    const Tensor weight = i == 0 ? 1.0 - part : part;
    const bool border = outside == Outside::kBorder;
    corners.push_back(
        {Cast(inside, DType::kI64), border ? Select(far, 0.0, weight) : Select(Eq(inside, index), weight, 0.0)});
  }
  return corners;
}

// weight * value of the four elements of x [leading..., rows, columns, C] around each place: four [out..., C].
std::vector<Tensor> Samples(const Node& node, const Tensor& x, const std::vector<Tensor>& leading, const Tensor& row,
                            const Tensor& column, const Shape& out, Outside outside) {
  const auto rows = CornersOf(node, row, x.dim(-3), outside), columns = CornersOf(node, column, x.dim(-2), outside);
  Shape weighted = out;
  weighted.push_back(1);
  std::vector<Tensor> samples;
  for (const Corner& above : rows) {
    for (const Corner& beside : columns) {
      std::vector<Tensor> indices = leading;
      indices.insert(indices.end(), {above.index, beside.index});
      const Tensor weight = Broadcast(above.weight * beside.weight, out);
      samples.push_back(FlatGather(x, x.shape(), indices, out) * Reshape(weight, weighted));
    }
  }
  return samples;
}

Tensor SumOf(const std::vector<Tensor>& xs) {
  Tensor total = xs[0];
  for (size_t i = 1; i < xs.size(); ++i) total = total + xs[i];
  return total;
}

int64_t Positive(const Node& node, const char* attribute) {
  const int64_t value = node.Int(attribute);
  if (value < 1 || value > frontend::kLargestDim) Fail(std::string(attribute) + " is " + std::to_string(value));
  return value;
}

// The places of the samples of each region on one axis: [regions, bins * samples]. `first`: its column among (x1, y1,
// x2, y2).
Tensor SamplePlaces(const Node& node, const Tensor& regions, int64_t first, const Dim& bins, const Dim& samples) {
  const bool half_pixel = node.opset() >= 16 && node.String("coordinate_transformation_mode") == "half_pixel";
  const auto end = [&](int64_t column) {
    const Tensor scaled = SliceAxis(regions, 1, column, 1) * node.Float("spatial_scale");
    return half_pixel ? scaled - 0.5 : scaled;
  };
  const Tensor start = end(first);
  Tensor size = end(first + 2) - start;
  if (!half_pixel) size = Max(size, 1.0);
  const Dim count = node.dims().Mul(bins, samples);
  const Tensor step = size / Cast(node.builder().Number(count), regions.dtype());
  return start + (Iota(node.builder(), {1, count}, 1, regions.dtype()) + 0.5) * step;
}

Tensors RoiAlign(const Node& node) {
  const Tensor &x = node[0], &regions = node[1];
  DemandRank(x, 4, "the operand");
  DemandRank(regions, 2, "the list of regions");
  Dims& dims = node.dims();
  if (node.Int("sampling_ratio") <= 0) {
    Unsupported("a sampling_ratio that depends on the regions' sizes is not supported yet");
  }
  const Dim samples = Positive(node, "sampling_ratio");
  const Dim heights = Positive(node, "output_height"), widths = Positive(node, "output_width");
  const std::string mode = node.String("mode");
  if (mode != "avg" && mode != "max") Fail("unknown mode \"" + mode + "\"");

  const Dim count = regions.dim(0), rows = dims.Mul(heights, samples), columns = dims.Mul(widths, samples);
  const Tensor row = Reshape(SamplePlaces(node, regions, 1, heights, samples), {count, rows, 1});
  const Tensor column = Reshape(SamplePlaces(node, regions, 0, widths, samples), {count, 1, columns});
  const Tensor image = Reshape(Cast(node[2], DType::kI64), {count, 1, 1});
  const Tensor channels_last = Transpose(x, {0, 2, 3, 1});
  const auto parts = Samples(node, channels_last, {image}, row, column, {count, rows, columns}, Outside::kBorder);
  const Shape split = {count, heights, samples, widths, samples, x.dim(1)};
  Tensor pooled;
  if (mode == "max") {
    const Tensor greatest = Max(Max(parts[0], parts[1]), Max(parts[2], parts[3]));
    pooled = Reduce(ReduceOp::kMax, Reshape(greatest, split), {2, 4});
  } else {
    pooled = Reduce(ReduceOp::kMean, Reshape(SumOf(parts), split), {2, 4});
  }
  return {Transpose(pooled, {0, 3, 1, 2})};
}

std::vector<int64_t> Listed(const Node& node, const char* attribute, size_t count, int64_t otherwise) {
  const auto values = node.Ints(attribute, std::vector<int64_t>(count, otherwise));
  if (values.size() != count) {
    Fail(std::string(attribute) + " has " + std::to_string(values.size()) + " entries, not " + std::to_string(count));
  }
  return values;
}

// The place that each tap of each window reads on one of two spatial axes: [batch, parts, taps, rows, columns].
// `moves`: the offsets [batch, parts, taps, 2, rows, columns].
Tensor TapPlaces(const Node& node, const Tensor& moves, int axis, const Shape& kernel) {
  const auto at = static_cast<size_t>(axis);
  const auto stride = static_cast<double>(Listed(node, "strides", 2, 1)[at]);
  const auto dilation = static_cast<double>(Listed(node, "dilations", 2, 1)[at]);
  const auto low = static_cast<double>(Listed(node, "pads", 4, 0)[at]);
  Shape out = moves.shape();
  out.erase(out.begin() + 3);
  const Tensor move = Reshape(SliceAxis(moves, 3, axis, 1), out);
  const Tensor tap = Broadcast(Position(node.builder(), kernel, axis), kernel);
  const Tensor distance = Cast(Reshape(tap, {out[2], 1, 1}), move.dtype()) * dilation;
  const Tensor start = Cast(Position(node.builder(), {out[3], out[4]}, axis), move.dtype()) * stride;
  return move + (start + distance - low);
}

Tensors DeformConv(const Node& node) {
  const Tensor &x = node[0], &weight = node[1], &offset = node[2], &bias = node[3], &mask = node[4];
  if (x.rank() != 4) Unsupported(std::to_string(x.rank() - 2) + " spatial dims are not supported");
  DemandRank(weight, 4, "the weight");
  DemandRank(offset, 4, "the offset");
  Dims& dims = node.dims();
  const int64_t groups = Positive(node, "group"), parts = Positive(node, "offset_group");
  const Shape kernel = {weight.dim(2), weight.dim(3)};
  const Dim taps = dims.Product(kernel), batch = x.dim(0), channels = x.dim(1), filters = weight.dim(0);
  const Dim rows = offset.dim(2), columns = offset.dim(3), each = dims.FloorDiv(channels, parts);

  const Shape out = {batch, parts, taps, rows, columns};
  const Tensor moves = Reshape(offset, {batch, parts, taps, 2, rows, columns});
  const Tensor apart = Reshape(x, {batch, parts, each, x.dim(2), x.dim(3)});
  const Tensor channels_last = Transpose(apart, {0, 1, 3, 4, 2});
  const std::vector<Tensor> leading = {Position(node.builder(), out, 0), Position(node.builder(), out, 1)};
  Tensor taken = SumOf(Samples(node, channels_last, leading, TapPlaces(node, moves, 0, kernel),
                               TapPlaces(node, moves, 1, kernel), out, Outside::kZero));
  if (mask) taken = taken * Reshape(mask, {batch, parts, taps, rows, columns, 1});

  const Dim depth = dims.Mul(dims.FloorDiv(channels, groups), taps);
  const Tensor patches = Reshape(Transpose(taken, {0, 1, 5, 2, 3, 4}), {batch, groups, depth, dims.Mul(rows, columns)});
  const Tensor filter = Reshape(weight, {groups, dims.FloorDiv(filters, groups), depth});
  const Tensor result = Reshape(Dot(filter, patches), {batch, filters, rows, columns});
  return {bias ? result + PerChannel(bias, 4) : result};
}

constexpr OperatorRow kDetectionRows[] = {
    {"", "DeformConv", 19, "X W offset B? mask?", "Y",
     "dilations:ints group:int=1 kernel_shape:ints offset_group:int=1 pads:ints strides:ints", DeformConv},
    {"", "RoiAlign", 10, "X rois batch_indices", "Y",
     "mode:string=avg output_height:int=1 output_width:int=1 sampling_ratio:int=0 spatial_scale:float=1.0", RoiAlign},
    {"", "RoiAlign", 16, "X rois batch_indices", "Y",
     "coordinate_transformation_mode:string=half_pixel mode:string=avg output_height:int=1 output_width:int=1 "
     "sampling_ratio:int=0 spatial_scale:float=1.0",
     RoiAlign},
};

}  // namespace

std::span<const OperatorRow> DetectionOperators() { return kDetectionRows; }

}  // namespace tailor::onnx
