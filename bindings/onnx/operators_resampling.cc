// Resize and Upsample.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bindings/onnx/interpolation.h"
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

// How a node resizes: Resize's attributes.
struct Resizing {
  std::string mode = "nearest", coordinates = "half_pixel", rounding = "round_prefer_floor", policy = "stretch";
  double cubic_a = -0.75, outside_value = 0;
  bool exclude_outside = false, antialias = false;

  bool crops() const { return coordinates == "tf_crop_and_resize"; }
  bool nearest() const { return mode == "nearest"; }
};

// One resized dim. Scales, edges and places on the input's axis are f64 tensors: of rank 0, or one for each output
// index.
struct Axis {
  int axis;
  Dim size, out;
  Tensor scale;
  Tensor start, end;  // the region of tf_crop_and_resize
};

std::optional<double> NumberOf(const Tensor& x) {
  if (x.array() == nullptr || x.array()->size() != 1) return std::nullopt;
  return x.array()->number(0);
}

Tensor F64(frontend::Builder& builder, const Dim& dim) { return Cast(builder.Number(dim), DType::kF64); }

// A whole number as a dim: one that the graph computes fails the run outside [0, 2^31).
Dim DimOf(const Tensor& number) {
  const Tensor count = Cast(number, DType::kI64);
  if (count.array() == nullptr) return count.builder().DimOf(count);
  const int64_t size = count.array()->integer(0);
  if (size < 0 || size > frontend::kLargestDim) Fail("a dim is resized to " + std::to_string(size));
  return size;
}

// [out] as [out, 1...], which broadcasts over the dims of `rank` from the axis on.
Tensor Along(const Axis& axis, const Tensor& x, int rank) {
  Shape shape(static_cast<size_t>(rank - axis.axis), 1);
  shape[0] = axis.out;
  return Reshape(x, shape);
}

Tensor Last(const Axis& axis) {
  frontend::Builder& builder = axis.scale.builder();
  return F64(builder, builder.dims().Sub(axis.size, 1));
}

// `many`, or `single` where the output has one element.
Tensor UnlessSingle(const Axis& axis, const Tensor& many, const frontend::Operand& single) {
  if (axis.out.known() && axis.out.number() > 1) return many;
  return Select(axis.scale.builder().Number(axis.out) > 1, many, single);
}

// Each output index as a place on the input's axis: [out].
Tensor Places(const Resizing& resizing, const Axis& axis) {
  frontend::Builder& builder = axis.scale.builder();
  const std::string& mode = resizing.coordinates;
  const Tensor index = Iota(builder, {axis.out}, 0, DType::kF64);
  const Tensor size = F64(builder, axis.size), last = Last(axis);
  const auto half = [&] { return (index + 0.5) / axis.scale - 0.5; };
  const auto gaps = [&] { return size * axis.scale - 1.0; };  // the output's exact size, less 1
  if (mode == "half_pixel") return half();
  if (mode == "asymmetric") return index / axis.scale;
  if (mode == "tf_half_pixel_for_nn") return half() + 0.5;
  if (mode == "pytorch_half_pixel") return UnlessSingle(axis, half(), 0.0);
  if (mode == "align_corners") return UnlessSingle(axis, index * last / gaps(), 0.0);
  if (mode == "half_pixel_symmetric") {
    const Tensor share = F64(builder, axis.out) / (size * axis.scale);
    return half() + size * 0.5 * (1.0 - share);
  }
  if (mode == "tf_crop_and_resize") {
    const Tensor many = index * (last * (axis.end - axis.start)) / gaps() + last * axis.start;
    return UnlessSingle(axis, many, last * ((axis.start + axis.end) * 0.5));
  }
  Fail("unknown coordinate_transformation_mode \"" + mode + "\"");
}

// Whole f64 numbers as i64 indices within the axis.
Tensor Clamped(const Axis& axis, const Tensor& index) {
  frontend::Builder& builder = index.builder();
  return Min(Cast(Max(index, 0.0), DType::kI64), builder.Number(builder.dims().Sub(axis.size, 1)));
}

Tensor IsOutside(const Axis& axis, const Tensor& place) { return (place < 0.0) | (place > Last(axis)); }

Tensor Rounded(const std::string& mode, const Tensor& place) {
  if (mode == "round_prefer_floor") return Ceil(place - 0.5);
  if (mode == "round_prefer_ceil") return Floor(place + 0.5);
  if (mode == "floor") return Floor(place);
  if (mode == "ceil") return Ceil(place);
  Fail("unknown nearest_mode \"" + mode + "\"");
}

// The weights of the elements at `index` for the outputs at `place`.
Tensor Weights(const Resizing& resizing, const Interpolation& kernel, const Axis& axis, const Tensor& index,
               const Tensor& place, const Tensor& shrink) {
  const Tensor weights = kernel.weight((index - place) * shrink, resizing.cubic_a);
  return resizing.exclude_outside ? Select(IsOutside(axis, index), 0.0, weights) : weights;
}

// x read at `place`: a sum over the `reach` elements on each side.
Tensor SumOfTaps(const Resizing& resizing, const Interpolation& kernel, const Tensor& x, const Axis& axis,
                 const Tensor& place, const Tensor& shrink, int reach) {
  const Tensor base = Floor(place);
  std::vector<std::pair<Tensor, Tensor>> taps;  // indices and weights
  Tensor total, out;
  for (int offset = 1 - reach; offset <= reach; ++offset) {
    const Tensor index = base + static_cast<double>(offset);
    const Tensor weight = Weights(resizing, kernel, axis, index, place, shrink);
    taps.emplace_back(Clamped(axis, index), weight);
    total = total ? total + weight : weight;
  }
  for (const auto& [index, weight] : taps) {
    const Tensor part = Gather(x, index, axis.axis) * Along(axis, Cast(weight / total, x.dtype()), x.rank());
    out = out ? out + part : part;
  }
  return out;
}

// x read at `place`, however far it reads: a product with the weights of all elements.
Tensor ProductWithWeights(const Resizing& resizing, const Interpolation& kernel, const Tensor& x, const Axis& axis,
                          const Tensor& place, const Tensor& shrink) {
  frontend::Builder& builder = x.builder();
  Dims& dims = builder.dims();
  const Dim reach = DimOf(Ceil(static_cast<double>(kernel.support) / shrink));
  const Dim around = dims.Add(axis.size, dims.Mul(reach, 2));
  const Tensor index = Iota(builder, {around}, 0, DType::kF64) - F64(builder, reach);
  Tensor weights = Weights(resizing, kernel, axis, index, Reshape(place, {axis.out, 1}), shrink);
  weights = Cast(weights / Reduce(ReduceOp::kSum, weights, {1}, true), x.dtype());
  std::vector<int64_t> order, back;
  Shape others;
  for (int i = 0; i < x.rank(); ++i) {
    back.push_back(i < axis.axis ? i : i == axis.axis ? x.rank() - 1 : i - 1);
    if (i == axis.axis) continue;
    order.push_back(i);
    others.push_back(x.dim(i));
  }
  order.push_back(axis.axis);
  const Tensor rows = Transpose(Gather(x, Clamped(axis, index), axis.axis), order);
  const Tensor out = Dot(Reshape(rows, {dims.Product(others), around}), weights, false, true);
  others.push_back(axis.out);
  return Transpose(Reshape(out, others), back);
}

// x with one axis read at `place`.
Tensor Resized(const Resizing& resizing, const Tensor& x, const Axis& axis, const Tensor& place) {
  constexpr double kMostReach = 128;
  if (resizing.nearest()) return Gather(x, Clamped(axis, Rounded(resizing.rounding, place)), axis.axis);
  const Interpolation& kernel = resizing.mode == "cubic" ? kCubic : kLinear;
  const Tensor one = x.builder().Scalar(DType::kF64, 1);
  const Tensor shrink = resizing.antialias ? Min(axis.scale, one) : one;
  const std::optional<double> known = NumberOf(shrink);
  const double reach = known ? std::ceil(kernel.support / *known) : 0;
  if (reach >= 1 && reach <= kMostReach) {
    return SumOfTaps(resizing, kernel, x, axis, place, shrink, static_cast<int>(reach));
  }
  return ProductWithWeights(resizing, kernel, x, axis, place, shrink);
}

// Where nearest reads output `index` of an axis whose scale is `scale`: known for the modes that look at no size.
std::optional<double> NearestPlace(const Resizing& resizing, double index, double scale) {
  double place;
  if (resizing.coordinates == "asymmetric") {
    place = index / scale;
  } else if (resizing.coordinates == "tf_half_pixel_for_nn") {
    place = (index + 0.5) / scale;
  } else if (resizing.coordinates == "half_pixel" || resizing.coordinates == "half_pixel_symmetric" ||
             resizing.coordinates == "pytorch_half_pixel") {
    place = (index + 0.5) / scale - 0.5;
  } else {
    return std::nullopt;
  }
  if (resizing.rounding == "round_prefer_floor") return std::ceil(place - 0.5);
  if (resizing.rounding == "round_prefer_ceil") return std::floor(place + 0.5);
  if (resizing.rounding == "floor") return std::floor(place);
  return resizing.rounding == "ceil" ? std::optional(std::ceil(place)) : std::nullopt;
}

// How often each element of `axis` is repeated, one after the other; 1 if the output is anything else.
int64_t TimesOf(const Resizing& resizing, Dims& dims, const Axis& axis) {
  const double scale = NumberOf(axis.scale).value_or(1);
  if (!resizing.nearest() || !(scale >= 2 && scale <= frontend::kLargestDim) || scale != std::floor(scale)) return 1;
  const auto times = static_cast<int64_t>(scale);
  if (dims.IsEqual(axis.out, dims.Mul(axis.size, times)) != true) return 1;
  // If the first element is read `times` times, so are the next ones.
  return NearestPlace(resizing, 0, scale) == 0.0 && NearestPlace(resizing, scale - 1, scale) == 0.0 ? times : 1;
}

// x with elements repeated along the axes of `times`.
Tensor Repeated(Dims& dims, const Tensor& x, const std::map<int, int64_t>& times) {
  Shape apart, spread, joined;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto count = times.find(axis);
    for (Shape* shape : {&apart, &spread}) shape->push_back(x.dim(axis));
    if (count == times.end()) {
      joined.push_back(x.dim(axis));
    } else {
      apart.push_back(1);
      spread.push_back(count->second);
      joined.push_back(dims.Mul(x.dim(axis), count->second));
    }
  }
  return Reshape(Broadcast(Reshape(x, apart), spread), joined);
}

// Axes that are known to shrink come first: the others then have less to do. Then the innermost ones: each of their
// elements is gathered, while neighbours along an outer axis are whole rows.
std::vector<Axis> InOrder(std::vector<Axis> axes) {
  const auto shrinks = [](const Axis& axis) { return NumberOf(axis.scale).value_or(1) < 1; };
  std::sort(axes.begin(), axes.end(), [&](const Axis& a, const Axis& b) {
    if (shrinks(a) != shrinks(b)) return shrinks(a);
    return shrinks(a) ? a.axis < b.axis : a.axis > b.axis;
  });
  return axes;
}

Tensor Apply(const Resizing& resizing, const Tensor& x, const std::vector<Axis>& axes) {
  Dims& dims = x.builder().dims();
  Tensor out = IsFloat(x.dtype()) || resizing.nearest() ? x : Cast(x, DType::kF32), outside;
  std::map<int, int64_t> repeated;
  for (const Axis& axis : axes) {
    const int64_t times = TimesOf(resizing, dims, axis);
    // Each is a dim more while elements are repeated.
    if (times > 1 && static_cast<int>(repeated.size()) < TAILOR_MAX_RANK - x.rank()) repeated[axis.axis] = times;
  }
  out = Repeated(dims, out, repeated);
  for (const Axis& axis : InOrder(axes)) {
    if (repeated.contains(axis.axis)) continue;
    if (!resizing.crops() && dims.IsEqual(axis.size, axis.out) == true && NumberOf(axis.scale) == 1.0) continue;
    if (axis.out.is(0)) {
      out = SliceAxis(out, axis.axis, 0, 0);
      continue;
    }
    const Tensor place = Places(resizing, axis);
    out = Resized(resizing, out, axis, place);
    if (!resizing.crops()) continue;
    const Tensor wrong = Along(axis, IsOutside(axis, place), x.rank());
    outside = outside ? outside | wrong : wrong;
  }
  return Cast(outside ? Select(outside, resizing.outside_value, out) : out, x.dtype());
}

// The ratio of two integers nearest to `number`, which is in (0, 2^31), with a denominator up to 1000.
std::pair<int64_t, int64_t> RatioOf(double number) {
  std::pair<int64_t, int64_t> best;
  double least = INFINITY;
  for (int64_t denominator = 1; denominator <= 1000; ++denominator) {
    const double numerator = std::nearbyint(number * static_cast<double>(denominator));
    const double error = std::abs(number - numerator / static_cast<double>(denominator));
    if (error >= least) continue;
    least = error;
    best = {static_cast<int64_t>(numerator), denominator};
  }
  return best;
}

// floor(size * scale), a product in f32.
Dim Scaled(frontend::Builder& builder, const Dim& size, const Tensor& scale) {
  const std::optional<double> number = NumberOf(scale);
  if (number && !(*number > 0 && *number < frontend::kLargestDim)) Fail("a scale is " + std::to_string(*number));
  if (number && !size.known()) {
    const auto [numerator, denominator] = RatioOf(*number);
    return builder.dims().FloorDiv(builder.dims().Mul(size, numerator), denominator);
  }
  return DimOf(Floor(Cast(builder.Number(size), DType::kF32) * Cast(scale, DType::kF32)));
}

// `count` f64 numbers of rank 0.
std::vector<Tensor> Numbers(const Node& node, const Tensor& tensor, const std::string& what, int count) {
  if (!tensor) Fail(what + " are missing");
  if (tensor.rank() != 1) Fail(what + " have rank " + std::to_string(tensor.rank()) + ", not 1");
  if (node.dims().IsEqual(tensor.dim(0), count) == false) {
    Fail(what + " have " + node.dims().Text(tensor.dim(0)) + " entries, not " + std::to_string(count));
  }
  std::vector<Tensor> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(Cast(Reshape(SliceAxis(tensor, 0, i, 1), {}), DType::kF64));
  return numbers;
}

// Axes with the scales that are given for each.
std::vector<Axis> AxesByScale(const Node& node, const std::vector<int>& axes, const std::vector<Tensor>& scales) {
  std::vector<Axis> resized;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim& size = node[0].dim(axes[i]);
    resized.push_back({axes[i], size, Scaled(node.builder(), size, scales[i]), scales[i], {}, {}});
  }
  return resized;
}

// Axes with the sizes that are given for each, or with sizes of the same aspect ratio within or around them.
std::vector<Axis> AxesBySize(const Node& node, const Resizing& resizing, const std::vector<int>& axes,
                             const Shape& sizes) {
  if (sizes.size() != axes.size()) {
    Fail("the sizes have " + std::to_string(sizes.size()) + " entries, not " + std::to_string(axes.size()));
  }
  frontend::Builder& builder = node.builder();
  std::vector<Axis> resized;
  Tensor common;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim& size = node[0].dim(axes[i]);
    const Tensor scale = F64(builder, sizes[i]) / F64(builder, size);
    resized.push_back({axes[i], size, sizes[i], scale, {}, {}});
    common = !common ? scale : resizing.policy == "not_larger" ? Min(common, scale) : Max(common, scale);
  }
  if (resizing.policy == "stretch") return resized;
  if (resizing.policy != "not_larger" && resizing.policy != "not_smaller") {
    Fail("unknown keep_aspect_ratio_policy \"" + resizing.policy + "\"");
  }
  for (Axis& axis : resized) {
    axis.scale = common;
    axis.out = DimOf(Floor(F64(builder, axis.size) * common + 0.5));
  }
  return resized;
}

Resizing ResizingOf(const Node& node) {
  Resizing resizing;
  const auto text = [&](const char* name, std::string& value) {
    if (node.Has(name)) value = node.String(name);
  };
  text("mode", resizing.mode);
  text("coordinate_transformation_mode", resizing.coordinates);
  text("nearest_mode", resizing.rounding);
  text("keep_aspect_ratio_policy", resizing.policy);
  resizing.cubic_a = node.Float("cubic_coeff_a", resizing.cubic_a);
  resizing.outside_value = node.Float("extrapolation_value", 0);
  resizing.exclude_outside = node.Int("exclude_outside", 0) != 0;
  resizing.antialias = node.Int("antialias", 0) != 0;
  static const std::set<std::string> kModes = {"nearest", "linear", "bilinear", "trilinear", "cubic"};
  if (!kModes.contains(resizing.mode)) Fail("unknown mode \"" + resizing.mode + "\"");
  return resizing;
}

std::vector<int> EveryAxis(const Tensor& x) {
  std::vector<int> axes(x.shape().size());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Tensors Resize(const Node& node) {
  const Tensor &x = node[0], &region = node[1], &scales = node[2], &sizes = node[3];
  const Resizing resizing = ResizingOf(node);
  std::vector<int> axes = EveryAxis(x);
  if (node.Has("axes")) {
    axes.clear();
    for (int64_t axis : node.Ints("axes")) axes.push_back(static_cast<int>(node.Axis(axis, x.rank())));
    if (std::set<int>(axes.begin(), axes.end()).size() != axes.size()) Fail("an axis is repeated");
  }
  const auto count = static_cast<int>(axes.size());
  const bool sized = sizes && !(sizes.rank() == 1 && sizes.dim(0).is(0));
  std::vector<Axis> resized = sized ? AxesBySize(node, resizing, axes, node.DimsOf(sizes, "the sizes"))
                                    : AxesByScale(node, axes, Numbers(node, scales, "the scales", count));
  if (resizing.crops()) {
    const std::vector<Tensor> edges = Numbers(node, region, "the region", 2 * count);
    for (size_t i = 0; i < axes.size(); ++i) {
      resized[i].start = edges[i];
      resized[i].end = edges[i + axes.size()];
    }
  }
  return {Apply(resizing, x, resized)};
}

// All axes by scale, as Upsample resizes.
Tensors UpsampledBy(const Node& node, const std::vector<Tensor>& scales) {
  Resizing resizing = ResizingOf(node);
  resizing.coordinates = "asymmetric";
  resizing.rounding = "floor";
  return {Apply(resizing, node[0], AxesByScale(node, EveryAxis(node[0]), scales))};
}

// Resize-10 too.
Tensors Upsample(const Node& node) { return UpsampledBy(node, Numbers(node, node[1], "the scales", node[0].rank())); }

// The scales are attributes.
Tensors LegacyUpsample(const Node& node) {
  std::vector<double> numbers;
  if (node.opset() < 7) {
    numbers = {1, 1, node.Float("height_scale"), node.Float("width_scale")};
  } else {
    numbers = node.Floats("scales");
  }
  if (static_cast<int>(numbers.size()) != node[0].rank()) {
    Fail(std::to_string(numbers.size()) + " scales for rank " + std::to_string(node[0].rank()));
  }
  std::vector<Tensor> scales;
  for (double number : numbers) scales.push_back(node.builder().Scalar(DType::kF64, number));
  return UpsampledBy(node, scales);
}

constexpr OperatorRow kResamplingOperators[] = {
    {"", "Resize", 10, "X scales", "Y", "mode:string=nearest", Upsample},
    {"", "Resize", 11, "X roi scales sizes?", "Y",
     "coordinate_transformation_mode:string=half_pixel cubic_coeff_a:float=-0.75 exclude_outside:int=0 "
     "extrapolation_value:float=0.0 mode:string=nearest nearest_mode:string=round_prefer_floor",
     Resize},
    {"", "Resize", 13, "X roi? scales? sizes?", "Y",
     "coordinate_transformation_mode:string=half_pixel cubic_coeff_a:float=-0.75 exclude_outside:int=0 "
     "extrapolation_value:float=0.0 mode:string=nearest nearest_mode:string=round_prefer_floor",
     Resize},
    {"", "Resize", 18, "X roi? scales? sizes?", "Y",
     "antialias:int=0 axes:ints coordinate_transformation_mode:string=half_pixel cubic_coeff_a:float=-0.75 "
     "exclude_outside:int=0 extrapolation_value:float=0.0 keep_aspect_ratio_policy:string=stretch mode:string=nearest "
     "nearest_mode:string=round_prefer_floor",
     Resize},
    {"", "Upsample", 1, "X", "Y", "height_scale:float! mode:string=nearest width_scale:float!", LegacyUpsample},
    {"", "Upsample", 7, "X", "Y", "mode:string=nearest scales:floats!", LegacyUpsample},
    {"", "Upsample", 9, "X scales", "Y", "mode:string=nearest", Upsample},
    {"", "Upsample", 10, "", "", "", nullptr},  // deprecated
};

}  // namespace

std::span<const OperatorRow> ResamplingOperators() { return kResamplingOperators; }

}  // namespace tailor::onnx
