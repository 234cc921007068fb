#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <string>

#include "bindings/frontend/elements.h"
#include "bindings/frontend/error.h"
#include "bindings/frontend/evaluate.h"
#include "bindings/frontend/fold.h"
#include "bindings/frontend/ops.h"

namespace tailor::frontend {
namespace {

// Whether `count` indices from `start` on are of a dim of `size`. Neither is negative.
bool LiesWithin(int64_t size, int64_t start, int64_t count, int64_t step) {
  int64_t last;
  if (count == 0) return start <= size;
  return start < size && !__builtin_mul_overflow(count - 1, step, &last) &&
         !__builtin_add_overflow(last, start, &last) && last >= 0 && last < size;
}

int64_t Axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    Fail("axis " + std::to_string(axis) + " is out of range for rank " + std::to_string(rank));
  }
  return axis < 0 ? axis + rank : axis;
}

std::optional<std::vector<int64_t>> Numbers(const Shape& shape) {
  std::vector<int64_t> numbers;
  for (const Dim& dim : shape) {
    if (!dim.known() || dim.number() < 0) return std::nullopt;
    numbers.push_back(dim.number());
  }
  return numbers;
}

// The moved constant, if its result is small enough, or the moved elements.
std::optional<Tensor> FoldMove(const std::vector<Tensor>& xs, int64_t size,
                               const std::function<Array(const std::vector<Array>&)>& move) {
  if (std::all_of(xs.begin(), xs.end(), [](const Tensor& x) { return x.array() != nullptr; })) {
    if (!Folds(size, xs)) return std::nullopt;
    std::vector<Array> arrays;
    for (const Tensor& x : xs) {
      if (x.dtype() != xs[0].dtype()) return std::nullopt;
      arrays.push_back(*x.array());
    }
    return xs[0].builder().Constant(move(arrays));
  }
  return size <= kMaxElements ? FoldElementsMove(xs, move) : std::nullopt;
}

// Whether the shape is [] or [1].
bool IsOne(const Shape& shape) { return shape.empty() || (shape.size() == 1 && shape[0].is(1)); }

// The constant `x` with `fill` around and between its elements, if it grows to at most 16 times its size.
std::optional<Tensor> FoldPad(const Tensor& x, const Tensor& fill, const Shape& low, const Shape& high,
                              const std::vector<int64_t>& interior) {
  constexpr int64_t kMostGrowth = 16;
  const auto before = Numbers(low), after = Numbers(high);
  const size_t rank = x.shape().size();
  if (x.array() == nullptr || fill.array() == nullptr || fill.dtype() != x.dtype() || fill.rank() != 0 || !before ||
      !after || before->size() != rank || after->size() != rank || interior.size() != rank) {
    return std::nullopt;
  }
  const int64_t most = std::max(kMostGrowth * x.array()->size(), kMaxElements);
  std::vector<int64_t> shape;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = x.array()->shape()[i], gaps = std::max<int64_t>(size - 1, 0);
    if (interior[i] < 0 || interior[i] > most || (*before)[i] > most || (*after)[i] > most || size > most) {
      return std::nullopt;
    }
    int64_t between;
    if (__builtin_mul_overflow(gaps, interior[i], &between) || between > most) return std::nullopt;
    shape.push_back((*before)[i] + size + between + (*after)[i]);
  }
  int64_t count = 1;
  for (int64_t dim : shape) {
    if (__builtin_mul_overflow(count, dim, &count) || count > most) return std::nullopt;
  }
  if (!x.builder().TakeGrowth(std::max<int64_t>(count - x.array()->size(), 0))) return std::nullopt;
  return x.builder().Constant(EvaluatePad(*x.array(), *fill.array(), shape, *before, interior));
}

bool IsStatic(const Tensor& x) { return !x.computed(); }

// Whether a view of x may be evaluated (Builder::folds_views).
bool FoldsView(const Tensor& x) {
  return IsStatic(x) && (x.builder().folds_views() || x.array() == nullptr || x.array()->size() <= kMaxElements);
}

std::vector<int64_t> StaticShape(const Tensor& x) { return *Numbers(x.shape()); }

}  // namespace

Tensor Broadcast(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  Builder& builder = x.builder();
  const auto numbers = Numbers(shape);
  if (IsStatic(x) && numbers && BroadcastShape(StaticShape(x), *numbers) == *numbers) {
    auto folded = FoldMove({x}, CountOf(*numbers), [&](const auto& xs) { return EvaluateBroadcast(xs[0], *numbers); });
    if (folded) return *folded;
  }
  const auto dims = builder.dims().Handles(shape);
  const Tensor out = builder.Append({x}, [&](tailor_value* out) {
    return tailor_graph_broadcast(builder.graph(), x.value(), dims.data(), dims.size(), out);
  });
  return out.WithRepeated(x);
}

bool IsOneElement(const Tensor& x) {
  return std::all_of(x.shape().begin(), x.shape().end(), [](const Dim& dim) { return dim.is(1); });
}

Tensor Reshape(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  Builder& builder = x.builder();
  const auto numbers = Numbers(shape);
  if (FoldsView(x) && numbers && CountOf(*numbers) == CountOf(StaticShape(x))) {
    auto folded = FoldMove({x}, CountOf(*numbers), [&](const auto& xs) { return xs[0].Reshaped(*numbers); });
    if (folded) return *folded;
  }
  // One computed integer is a list of it, which other lists may take in.
  if (x.computed() && IsInteger(x.dtype()) && IsOne(x.shape()) && IsOne(shape)) {
    return builder.Of(*builder.Parts(x), x.dtype(), *numbers);
  }
  const auto dims = builder.dims().Handles(shape);
  return builder.Append({x}, [&](tailor_value* out) {
    return tailor_graph_reshape(builder.graph(), x.value(), dims.data(), dims.size(), out);
  });
}

Tensor Transpose(const Tensor& x, const std::vector<int64_t>& permutation) {
  std::vector<int64_t> sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> identity(static_cast<size_t>(x.rank()));
  std::iota(identity.begin(), identity.end(), 0);
  if (sorted != identity) Fail("a permutation does not have each axis once");
  if (permutation == identity) return x;
  Builder& builder = x.builder();
  if (FoldsView(x)) {
    auto folded =
        FoldMove({x}, CountOf(StaticShape(x)), [&](const auto& xs) { return EvaluateTranspose(xs[0], permutation); });
    if (folded) return *folded;
  }
  return builder.Append({x}, [&](tailor_value* out) {
    return tailor_graph_transpose(builder.graph(), x.value(), permutation.data(), permutation.size(), out);
  });
}

Tensor Slice(const Tensor& x, const Shape& starts, const Shape& sizes, const std::vector<int64_t>& steps) {
  Builder& builder = x.builder();
  const auto from = Numbers(starts), count = Numbers(sizes);
  if (IsStatic(x) && from && count && from->size() == count->size() && static_cast<int>(count->size()) == x.rank()) {
    const std::vector<int64_t> strides = steps.empty() ? std::vector<int64_t>(count->size(), 1) : steps;
    bool inside = strides.size() == count->size();
    for (size_t i = 0; inside && i < count->size(); ++i) {
      inside = strides[i] != 0 && LiesWithin(x.shape()[i].number(), (*from)[i], (*count)[i], strides[i]);
    }
    if (inside) {
      auto folded =
          FoldMove({x}, CountOf(*count), [&](const auto& xs) { return EvaluateSlice(xs[0], *from, *count, strides); });
      if (folded) return *folded;
    }
  }
  const auto first = builder.dims().Handles(starts), wide = builder.dims().Handles(sizes);
  tailor_slice_options options;
  tailor_slice_options_init(&options);
  options.steps = steps.data();
  options.steps_count = steps.size();
  return builder.Append({x}, [&](tailor_value* out) {
    return tailor_graph_slice(builder.graph(), x.value(), first.data(), first.size(), wide.data(), wide.size(),
                              &options, out);
  });
}

Tensor MoveAxis(const Tensor& x, int64_t from, int64_t to) {
  std::vector<int64_t> order;
  for (int i = 0; i < x.rank(); ++i) order.push_back(i);
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return Transpose(x, order).With(x.narrow());
}

Tensor InsertAxis(const Tensor& x, int64_t axis) {
  Shape shape = x.shape();
  shape.insert(shape.begin() + axis, 1);
  return Reshape(x, shape).With(x.narrow());
}

Tensor SliceAxis(const Tensor& x, int64_t axis, const Dim& start, const Dim& size, int64_t step) {
  const auto at = static_cast<size_t>(Axis(axis, x.rank()));
  Shape starts(x.shape().size(), 0), sizes = x.shape();
  std::vector<int64_t> steps(x.shape().size(), 1);
  starts[at] = start;
  sizes[at] = size;
  steps[at] = step;
  return Slice(x, starts, sizes, steps);
}

Tensor Concat(const std::vector<Tensor>& xs, int64_t axis) {
  if (xs.size() == 1) return xs[0];
  Builder& builder = xs[0].builder();
  const int64_t along = Axis(axis, xs[0].rank());
  // Elements that the graph computes take part where others are known.
  const bool any = std::any_of(xs.begin(), xs.end(), IsStatic);
  int64_t size = 0;
  bool fits = any;
  for (const Tensor& x : xs) {
    const auto shape = Numbers(x.shape());
    fits = fits && shape && x.rank() == xs[0].rank();
    fits = fits && !__builtin_add_overflow(size, CountOf(*shape), &size);
    for (int i = 0; fits && i < x.rank(); ++i) fits = i == along || x.dim(i) == xs[0].dim(i);
  }
  if (fits) {
    if (auto folded = FoldMove(xs, size, [&](const auto& arrays) { return EvaluateConcat(arrays, along); })) {
      return *folded;
    }
  }
  std::vector<tailor_value> values;
  for (const Tensor& x : xs) values.push_back(x.value());
  return builder.Append(xs, [&](tailor_value* out) {
    return tailor_graph_concat(builder.graph(), values.data(), values.size(), along, out);
  });
}

Tensor Gather(const Tensor& x, const Tensor& indices, int64_t axis) {
  Builder& builder = x.builder();
  const int64_t along = Axis(axis, x.rank());
  const bool indexes = indices.dtype() == DType::kI32 || indices.dtype() == DType::kI64;
  if (indexes && indices.array() != nullptr && IsStatic(x)) {
    const auto shape = StaticShape(x);
    std::vector<int64_t> moved = shape;
    moved[static_cast<size_t>(along)] = indices.array()->size();
    const int64_t total = CountOf(moved);
    if (x.array() != nullptr && Folds(total, {x, indices})) {
      return builder.Constant(EvaluateGather(*x.array(), *indices.array(), along));
    }
    if (x.elements() != nullptr && total <= kMaxElements) {
      const auto folded =
          FoldElementsMove({x}, [&](const auto& xs) { return EvaluateGather(xs[0], *indices.array(), along); });
      if (folded) return *folded;
    }
  }
  tailor_gather_options options;
  tailor_gather_options_init(&options);
  options.axis = along;
  return builder.Append({x, indices}, [&](tailor_value* out) {
    return tailor_graph_gather(builder.graph(), x.value(), indices.value(), &options, out);
  });
}

Tensor Iota(Builder& builder, const Shape& shape, int64_t axis, DType dtype) {
  const int64_t along = Axis(axis, static_cast<int>(shape.size()));
  const auto numbers = Numbers(shape);
  if (numbers && CountOf(*numbers) <= kMaxElements) return builder.Constant(EvaluateIota(*numbers, along, dtype));
  const auto dims = builder.dims().Handles(shape);
  return builder.Append({}, [&](tailor_value* out) {
    return tailor_graph_iota(builder.graph(), dims.data(), dims.size(), along, static_cast<int32_t>(dtype), out);
  });
}

Tensor Pad(const Tensor& x, const Operand& value, const Shape& low, const Shape& high,
           const std::vector<int64_t>& interior) {
  Builder& builder = x.builder();
  const Tensor fill = value.Like(x);
  const std::vector<int64_t> between = interior.empty() ? std::vector<int64_t>(x.shape().size(), 0) : interior;
  const Shape none(x.shape().size(), 0);
  if (low == none && high == none && between == std::vector<int64_t>(x.shape().size(), 0)) return x;
  if (auto folded = FoldPad(x, fill, low, high, between)) return *folded;
  const auto before = builder.dims().Handles(low), after = builder.dims().Handles(high);
  tailor_pad_options options;
  tailor_pad_options_init(&options);
  options.interior = interior.data();
  options.interior_count = interior.size();
  return builder.Append({x, fill}, [&](tailor_value* out) {
    return tailor_graph_pad(builder.graph(), x.value(), fill.value(), before.data(), before.size(), after.data(),
                            after.size(), &options, out);
  });
}

Tensor Window(const Tensor& x, const std::vector<int64_t>& axes, const Shape& sizes,
              const std::vector<int64_t>& strides, const std::vector<int64_t>& dilations) {
  Builder& builder = x.builder();
  const auto dims = builder.dims().Handles(sizes);
  tailor_window_options options;
  tailor_window_options_init(&options);
  options.strides = strides.data();
  options.strides_count = strides.size();
  options.dilations = dilations.data();
  options.dilations_count = dilations.size();
  return builder.Append({x}, [&](tailor_value* out) {
    return tailor_graph_window(builder.graph(), x.value(), axes.data(), axes.size(), dims.data(), dims.size(), &options,
                               out);
  });
}

}  // namespace tailor::frontend
