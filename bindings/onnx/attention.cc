#include "bindings/onnx/attention.h"

#include <cmath>
#include <utility>

namespace tailor::onnx {

using frontend::Builder;
using frontend::Concat;
using frontend::Dim;
using frontend::Dims;
using frontend::Fail;
using frontend::Shape;
using frontend::Tensor;
using frontend::Unsupported;

int64_t HeadsOf(const Node& node, const char* attribute) {
  const int64_t heads = node.Int(attribute);
  if (heads < 1) Fail(std::string(attribute) + " is " + std::to_string(heads));
  return heads;
}

void DemandDim(const Node& node, const Dim& dim, const Dim& wanted, const std::string& what) {
  Dims& dims = node.dims();
  const auto equal = dims.IsEqual(dim, wanted);
  if (equal == false) Fail(what + " is " + dims.Text(dim) + " instead of " + dims.Text(wanted));
  if (!equal) dims.AssumeEqual(dim, wanted);
}

void RefuseOperand(const Node& node, int index, const std::string& name) {
  if (node[index]) Unsupported("the operand " + name + " is not supported");
}

void RefuseFlag(const Node& node, const std::string& attribute) {
  if (node.Flag(attribute)) Unsupported("the attribute " + attribute + " is not supported");
}

Tensor SplitHeads(const Tensor& x, int64_t heads) {
  DemandRank(x, 3, "an operand");
  const Dim size = x.builder().dims().FloorDiv(x.dim(2), heads);
  return Transpose(Reshape(x, {x.dim(0), x.dim(1), heads, size}), {0, 2, 1, 3});
}

Tensor JoinHeads(const Tensor& x) {
  const Tensor rows = Transpose(x, {0, 2, 1, 3});
  return Reshape(rows, {x.dim(0), x.dim(2), x.builder().dims().Mul(x.dim(1), x.dim(3))});
}

Groups GroupsOf(const Node& node, const Dim& heads, const Dim& keys) {
  Dims& dims = node.dims();
  if (dims.IsEqual(heads, keys) == true) return {heads, keys, 1};
  if (keys.known() && heads.known() && (keys.number() < 1 || heads.number() % keys.number() != 0)) {
    Fail(std::to_string(heads.number()) + " heads of queries for " + std::to_string(keys.number()) + " of keys");
  }
  const auto each = dims.Quotient(heads, keys);
  if (!each) Unsupported("a number of heads that is not known is not supported");
  return {heads, keys, *each};
}

Tensor Grouped(const Tensor& x, const Groups& groups) {
  return groups.alike() ? x : Reshape(x, {x.dim(0), groups.keys, groups.each, x.dim(2), x.dim(3)});
}

Tensor Shared(const Tensor& x, const Groups& groups) {
  return groups.alike() ? x : Reshape(x, {x.dim(0), groups.keys, 1, x.dim(2), x.dim(3)});
}

Tensor GroupedMask(Tensor mask, const Groups& groups) {
  if (groups.alike() || mask.rank() < 3) return mask;
  const auto at = static_cast<size_t>(mask.rank()) - 3;
  Shape shape = mask.shape();
  const bool one = shape[at].is(1);
  if (!one) {
    shape[at] = groups.heads;
    mask = Broadcast(mask, shape);
    shape[at] = groups.keys;
  }
  shape.insert(shape.end() - 2, one ? Dim(1) : groups.each);
  return Reshape(mask, shape);
}

Tensor Scores(const Tensor& query, const Tensor& key, std::optional<double> scale) {
  const DType dtype = query.dtype();
  const auto scaled = [&](const Tensor& x) -> Tensor {
    if (scale) return x * *scale;
    const Dim& size = query.dim(-1);
    if (size.known() && size.number() > 0) return x * (1 / std::sqrt(static_cast<double>(size.number())));
    return x * Cast(Rsqrt(Cast(query.builder().Number(size), DType::kF32)), dtype);
  };
  if (dtype == DType::kF16) return Dot(scaled(query), key, false, true);
  return scaled(Dot(query, key, false, true));
}

Tensor After(const Node& node, const Tensor& past, const Tensor& x, const std::string& what) {
  if (!past) return x;
  DemandRank(past, 4, what);
  DemandDim(node, past.dim(0), x.dim(0), "the batch of " + what);
  return Concat({past, x}, 2);
}

Tensor BiasOf(const Node& node, const Tensor& bias, const Shape& shape, DType dtype) {
  DemandRank(bias, 4, "the attention bias");
  for (int axis = 0; axis < 4; ++axis) {
    if (!bias.dim(axis).is(1)) {
      DemandDim(node, bias.dim(axis), shape[static_cast<size_t>(axis)],
                "dim " + std::to_string(axis) + " of the attention bias");
    }
  }
  return Cast(bias, dtype);
}

Tensor AtPositions(const Tensor& cache, const Tensor& positions, bool heads_first) {
  const Dim batch = positions.dim(0), length = positions.dim(1), half = cache.dim(1);
  return Reshape(Gather(cache, positions), heads_first ? Shape{batch, 1, length, half} : Shape{batch, length, 1, half});
}

void DemandCaches(const Node& node, const Tensor& cosine, const Tensor& sine) {
  if (!cosine || !sine) Fail("rotary embedding without cosines or sines");
  DemandRank(cosine, 2, "a cache of cosines");
  DemandRank(sine, 2, "a cache of sines");
  DemandDim(node, sine.dim(1), cosine.dim(1), "the number of sines");
}

Tensor Rotated(const Tensor& x, const Dim& rotated, const Tensor& cosine, const Tensor& sine, bool interleaved) {
  const Dim half = cosine.dim(3), rest = x.builder().dims().Sub(x.dim(3), rotated);
  const int64_t step = interleaved ? 2 : 1;
  const Tensor first = SliceAxis(x, 3, 0, half, step);
  const Tensor second = SliceAxis(x, 3, interleaved ? Dim(1) : half, half, step);
  const Tensor real = cosine * first - sine * second, imaginary = sine * first + cosine * second;
  Tensor out;
  if (interleaved) {
    Shape shape = real.shape();
    shape.push_back(1);
    out = Concat({Reshape(real, shape), Reshape(imaginary, shape)}, 4);
    out = Reshape(out, {x.dim(0), x.dim(1), x.dim(2), rotated});
  } else {
    out = Concat({real, imaginary}, 3);
  }
  return rest.is(0) ? out : Concat({out, SliceAxis(x, 3, rotated, rest)}, 3);
}

}  // namespace tailor::onnx
