// AffineGrid and GridSample: reads at places that tensors give.
#include <span>
#include <string>
#include <vector>

#include "bindings/onnx/indexing.h"
#include "bindings/onnx/interpolation.h"
#include "bindings/onnx/node.h"
#include "bindings/onnx/operators.h"

namespace tailor::onnx {
namespace {

using frontend::Dim;
using frontend::Dims;
using frontend::Fail;
using frontend::Shape;
using frontend::Tensor;

// The centers (or with `corners` the corners) of `size` cells that divide [-1, 1]: [size].
Tensor Coordinates(frontend::Builder& builder, const Dim& size, bool corners, DType dtype) {
  Dims& dims = builder.dims();
  const auto number = [&](const Dim& dim) { return Cast(builder.Number(dim), dtype); };
  const Tensor index = Iota(builder, {size}, 0, dtype);
  if (!corners) return (index * 2.0 + 1.0 - number(size)) / number(size);
  const Tensor gaps = number(dims.Max(dims.Sub(size, 1), 1));
  return (index * 2.0 - gaps) / gaps;
}

// theta [N, R, R + 1] times the homogeneous coordinates (x, y, ..., 1) of an image [N, C, D...], of rank R:
// [N, D..., R].
Tensors AffineGrid(const Node& node) {
  const Shape image = node.DimsOf(node[1], "the size");
  if (image.size() != 4 && image.size() != 5) Fail("the size has " + std::to_string(image.size()) + " entries");
  const int rank = static_cast<int>(image.size()) - 2;
  if (node[0].rank() != 3) Fail("theta has rank " + std::to_string(node[0].rank()) + ", not 3");
  const Dim batch = node[0].dim(0);
  node.dims().AssumeEqual(image[0], batch);
  node.dims().AssumeEqual(node[0].dim(2), rank + 1);
  const bool corners = node.Flag("align_corners");
  const auto out = ThroughF32(node[0], [&](const Tensor& theta) {
    Shape spread(static_cast<size_t>(rank) + 2, 1);
    spread.front() = batch;
    spread.back() = rank;
    const auto column = [&](int i) { return Reshape(SliceAxis(theta, 2, i, 1), spread); };
    Tensor total = column(rank);
    for (int i = 0; i < rank; ++i) {  // x is the last dim's coordinate
      const Dim& size = image[static_cast<size_t>(rank + 1 - i)];
      Shape along(static_cast<size_t>(i) + 2, 1);
      along[0] = size;
      const Tensor places = Coordinates(node.builder(), size, corners, theta.dtype());
      total = total + column(i) * Reshape(places, along);
    }
    return total;
  });
  return {out};
}

// How GridSample reads.
struct Sampling {
  std::string mode, padding;
  bool corners;
};

// What GridSample reads: x [N, C, D...], for each place an element of every channel: `out` is [N, C, E...].
struct Image {
  Tensor x;
  Shape out;
};

Tensor NumberLike(const Tensor& other, const Dim& dim) { return Cast(other.builder().Number(dim), other.dtype()); }

// [-1, 1] as a place on an axis. With padding by the border, places far beyond it are moved near: their weights would
// be lost in rounding. The support of kernels is 2 at most.
Tensor Denormalized(const Sampling& sampling, const Tensor& place, const Dim& size) {
  const Tensor count = NumberLike(place, size);
  const Tensor out = sampling.corners ? (place + 1.0) * ((count - 1.0) * 0.5) : ((place + 1.0) * count - 1.0) * 0.5;
  return sampling.padding == "border" ? Max(Min(out, count + 1.0), -2.0) : out;
}

// An index beyond the border mirrored back, as often as it takes.
Tensor Reflected(const Sampling& sampling, const Tensor& index, const Dim& size) {
  const Tensor count = NumberLike(index, size);
  const double low = sampling.corners ? 0.0 : -0.5;
  const Tensor span = Max(sampling.corners ? count - 1.0 : count, 1e-30);
  const Tensor distance = Abs(index - low);
  const Tensor flips = Floor(distance / span), rest = distance - flips * span;
  const Tensor odd = Ne(flips - Floor(flips * 0.5) * 2.0, 0.0);
  return Select(odd, span - rest, rest) + low;
}

// The index of the first element of each channel in flat x: [N, C, 1...].
Tensor FirstOfChannels(const Image& image) {
  frontend::Builder& builder = image.x.builder();
  const Shape& shape = image.x.shape();
  const Tensor channel = Position(builder, image.out, 0) * builder.Number(shape[1]) + Position(builder, image.out, 1);
  return channel * builder.Number(builder.dims().Product(Shape(shape.begin() + 2, shape.end())));
}

// The image at one index [N, 1, E...] for each spatial dim, times the weight unless it is absent: [N, C, E...].
Tensor Sampled(const Sampling& sampling, const Image& image, const std::vector<Tensor>& indices, const Tensor& weight) {
  frontend::Builder& builder = image.x.builder();
  Tensor place, inside;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Dim& size = image.x.shape()[i + 2];
    const Tensor index = sampling.padding == "reflection" ? Reflected(sampling, indices[i], size) : indices[i];
    const Tensor held = Max(Min(index, NumberLike(index, builder.dims().Sub(size, 1))), 0.0);
    const Tensor along = Cast(held, DType::kI64);
    place = place ? place * builder.Number(size) + along : along;
    if (sampling.padding != "zeros") continue;
    const Tensor hit = Eq(held, index);
    inside = inside ? inside & hit : hit;
  }
  // One addition for each element: places are the same in all channels.
  const Tensor flat = Reshape(image.x, {builder.dims().Product(image.x.shape())});
  Tensor values = Gather(flat, Broadcast(FirstOfChannels(image) + place, image.out), 0);
  if (weight) values = values * Cast(weight, values.dtype());
  return inside ? Select(inside, values, 0) : values;
}

// The sum over the neighbours of each place, of which there are 2 * support along each dim.
Tensor Interpolated(const Sampling& sampling, const Image& image, const std::vector<Tensor>& places,
                    const Interpolation& kernel) {
  const int width = 2 * kernel.support;
  int count = 1;
  for (size_t i = 0; i < places.size(); ++i) count *= width;
  Tensor out;
  for (int neighbour = 0; neighbour < count; ++neighbour) {
    std::vector<Tensor> indices(places.size());
    Tensor weight;
    int rest = neighbour;
    for (size_t i = places.size(); i-- > 0; rest /= width) {
      indices[i] = Floor(places[i]) + static_cast<double>(1 - kernel.support + rest % width);
      const Tensor factor = kernel.weight(indices[i] - places[i], -0.75);
      weight = weight ? factor * weight : factor;
    }
    const Tensor part = Sampled(sampling, image, indices, weight);
    out = out ? out + part : part;
  }
  return out;
}

Sampling SamplingOf(const Node& node) {
  Sampling sampling = {node.String("mode"), node.String("padding_mode"), node.Flag("align_corners")};
  if (sampling.mode.starts_with("bi")) sampling.mode.erase(0, 2);
  if (sampling.mode != "nearest" && sampling.mode != "linear" && sampling.mode != "cubic") {
    Fail("unknown mode \"" + sampling.mode + "\"");
  }
  if (sampling.padding != "zeros" && sampling.padding != "border" && sampling.padding != "reflection") {
    Fail("unknown padding_mode \"" + sampling.padding + "\"");
  }
  return sampling;
}

// x [N, C, D...] read at the places that grid [N, E..., R] gives, the last dim's first.
Tensors GridSample(const Node& node) {
  const Sampling sampling = SamplingOf(node);
  const Tensor &x = node[0], &grid = node[1];
  const int rank = x.rank() - 2;
  if (rank < 1 || grid.rank() != x.rank()) {
    Fail("the input has rank " + std::to_string(x.rank()) + ", the grid " + std::to_string(grid.rank()));
  }
  if (node.dims().IsEqual(grid.dim(-1), rank) == false) {
    Fail("the grid has " + node.dims().Text(grid.dim(-1)) + " coordinates for " + std::to_string(rank) + " dims");
  }
  node.dims().AssumeEqual(x.dim(0), grid.dim(0));
  Image image{x, {x.dim(0), x.dim(1)}};
  image.out.insert(image.out.end(), grid.shape().begin() + 1, grid.shape().end() - 1);
  Shape one = image.out;
  one[1] = 1;
  std::vector<Tensor> places;
  for (int i = 0; i < rank; ++i) {
    const Tensor part = Reshape(SliceAxis(grid, -1, rank - 1 - i, 1), one);
    places.push_back(Denormalized(sampling, part, x.dim(i + 2)));
  }
  if (sampling.mode != "nearest") {
    return {Interpolated(sampling, image, places, sampling.mode == "cubic" ? kCubic : kLinear)};
  }
  for (Tensor& place : places) place = Round(place);
  return {Sampled(sampling, image, places, Tensor())};
}

constexpr OperatorRow kSamplingOperators[] = {
    {"", "AffineGrid", 20, "theta size", "grid", "align_corners:int=0", AffineGrid},
    {"", "GridSample", 16, "X grid", "Y", "align_corners:int=0 mode:string=bilinear padding_mode:string=zeros",
     GridSample},
    {"", "GridSample", 20, "X grid", "Y", "align_corners:int=0 mode:string=linear padding_mode:string=zeros",
     GridSample},
};

}  // namespace

std::span<const OperatorRow> SamplingOperators() { return kSamplingOperators; }

}  // namespace tailor::onnx
