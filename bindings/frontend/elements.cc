#include "bindings/frontend/elements.h"

#include <algorithm>
#include <array>
#include <utility>

#include "bindings/frontend/builder.h"
#include "bindings/frontend/error.h"
#include "bindings/frontend/evaluate.h"
#include "bindings/frontend/strides.h"

namespace tailor::frontend {
namespace {

// Elements of a list that takes part in dim arithmetic, at most; shapes have fewer. Longer lists are computed.
constexpr int64_t kMaxArithmetic = 128;

bool IsIndex(const Tensor& x) { return x.dtype() == DType::kBool || IsInteger(x.dtype()); }

// The dim sizes of a tensor that is a constant or known elements.
std::vector<int64_t> StaticShape(const Tensor& x) {
  std::vector<int64_t> shape;
  for (const Dim& dim : x.shape()) shape.push_back(dim.number());
  return shape;
}

struct Known {
  std::vector<Element> elements;
  std::vector<int64_t> shape;
};

// The operands' elements, if all are known dims and at least one tensor is not a constant.
std::optional<std::vector<Known>> KnownDims(const std::vector<Tensor>& xs) {
  if (std::none_of(xs.begin(), xs.end(), [](const Tensor& x) { return x.elements() != nullptr; })) return std::nullopt;
  std::vector<Known> known;
  for (const Tensor& x : xs) {
    if (!IsIndex(x)) return std::nullopt;
    auto elements = x.builder().KnownElements(x);
    if (!elements) return std::nullopt;
    known.push_back({*std::move(elements), StaticShape(x)});
  }
  return known;
}

std::optional<Dim> Combined(Dims& dims, BinaryOp op, bool is_bool, const Dim& a, const Dim& b) {
  switch (op) {
    case BinaryOp::kAdd:
      return dims.Add(a, b);
    case BinaryOp::kSub:
      return dims.Sub(a, b);
    case BinaryOp::kMul:
      return dims.Mul(a, b);
    case BinaryOp::kDiv:
      return dims.TruncDiv(a, b);
    case BinaryOp::kMod:
      return dims.Remainder(a, b);
    case BinaryOp::kRem:
      return dims.TruncMod(a, b);
    case BinaryOp::kMin:
      return dims.Min(a, b);
    case BinaryOp::kMax:
      return dims.Max(a, b);
    case BinaryOp::kEq:
      return dims.Equal(a, b);
    case BinaryOp::kNe:
      return dims.Sub(1, dims.Equal(a, b));
    case BinaryOp::kLt:
      return dims.Less(a, b);
    case BinaryOp::kLe:
      return dims.Sub(1, dims.Less(b, a));
    case BinaryOp::kGt:
      return dims.Less(b, a);
    case BinaryOp::kGe:
      return dims.Sub(1, dims.Less(a, b));
    case BinaryOp::kAnd:
      return is_bool ? std::optional(dims.Min(a, b)) : std::nullopt;
    case BinaryOp::kOr:
      return is_bool ? std::optional(dims.Max(a, b)) : std::nullopt;
    case BinaryOp::kXor:
      return is_bool ? std::optional(dims.Sub(1, dims.Equal(a, b))) : std::nullopt;
    case BinaryOp::kPow:
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRight:
      return std::nullopt;
  }
  return std::nullopt;
}

// arithmetic(), or nullopt where its result is no dim: it leaves 64 bits or has too many terms.
template <typename Arithmetic>
std::optional<Dim> Fitting(Arithmetic arithmetic) {
  try {
    return arithmetic();
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

std::optional<Tensor> FoldElements(UnaryOp op, const Tensor& x) {
  const auto known = KnownDims({x});
  if (!known || (op != UnaryOp::kNeg && op != UnaryOp::kAbs && !(op == UnaryOp::kNot && x.dtype() == DType::kBool))) {
    return std::nullopt;
  }
  Dims& dims = x.builder().dims();
  std::vector<Element> out;
  for (const Element& element : (*known)[0].elements) {
    const auto dim = Fitting([&] {
      const Dim negated = dims.Sub(op == UnaryOp::kNot ? 1 : 0, element.dim);
      return op == UnaryOp::kAbs ? dims.Max(element.dim, negated) : negated;
    });
    if (!dim) return std::nullopt;
    out.emplace_back(*dim);
  }
  return x.builder().Of(std::move(out), x.dtype(), (*known)[0].shape);
}

std::optional<Tensor> FoldElements(BinaryOp op, const Tensor& lhs, const Tensor& rhs) {
  if (lhs.dtype() != rhs.dtype()) return std::nullopt;
  const auto known = KnownDims({lhs, rhs});
  if (!known) return std::nullopt;
  const Known &a = (*known)[0], &b = (*known)[1];
  const std::vector<int64_t> shape = BroadcastShape(a.shape, b.shape);
  if (CountOf(shape) > kMaxArithmetic) return std::nullopt;
  Dims& dims = lhs.builder().dims();
  std::vector<Element> out;
  bool folds = true;
  ForEachElement(
      shape, std::array<Strides, 2>{BroadcastStrides(a.shape, shape.size()), BroadcastStrides(b.shape, shape.size())},
      [&](int64_t, const auto& at) {
        if (!folds) return;
        const auto dim = Fitting([&] {
          return Combined(dims, op, lhs.dtype() == DType::kBool, a.elements[static_cast<size_t>(at[0])].dim,
                          b.elements[static_cast<size_t>(at[1])].dim);
        });
        folds = dim.has_value();
        if (folds) out.emplace_back(*dim);
      });
  if (!folds) return std::nullopt;
  return lhs.builder().Of(std::move(out), IsComparison(op) ? DType::kBool : lhs.dtype(), shape);
}

std::optional<Tensor> FoldElementsSelect(const Tensor& condition, const Tensor& on_true, const Tensor& on_false) {
  const auto known = KnownDims({condition, on_true, on_false});
  if (!known || on_true.dtype() != on_false.dtype()) return std::nullopt;
  const Known &chosen = (*known)[0], &a = (*known)[1], &b = (*known)[2];
  const std::vector<int64_t> shape = BroadcastShape(chosen.shape, BroadcastShape(a.shape, b.shape));
  if (CountOf(shape) > kMaxArithmetic) return std::nullopt;
  Dims& dims = condition.builder().dims();
  std::vector<Element> out;
  bool folds = true;
  ForEachElement(
      shape,
      std::array<Strides, 3>{BroadcastStrides(chosen.shape, shape.size()), BroadcastStrides(a.shape, shape.size()),
                             BroadcastStrides(b.shape, shape.size())},
      [&](int64_t, const auto& at) {
        if (!folds) return;
        const auto dim = Fitting([&] {
          return dims.Select(chosen.elements[static_cast<size_t>(at[0])].dim,
                             a.elements[static_cast<size_t>(at[1])].dim, b.elements[static_cast<size_t>(at[2])].dim);
        });
        folds = dim.has_value();
        if (folds) out.emplace_back(*dim);
      });
  if (!folds) return std::nullopt;
  return condition.builder().Of(std::move(out), on_true.dtype(), shape);
}

std::optional<Tensor> FoldElementsReduce(ReduceOp op, const Tensor& x, const std::vector<int64_t>& axes,
                                         bool keep_dims) {
  const auto known = KnownDims({x});
  if (!known || x.rank() != 1 || axes.size() != 1 || op == ReduceOp::kMean) return std::nullopt;
  const std::vector<Element>& elements = (*known)[0].elements;
  if (elements.empty()) return std::nullopt;
  Dims& dims = x.builder().dims();
  const auto total = Fitting([&] {
    Dim out = elements[0].dim;
    for (size_t i = 1; i < elements.size(); ++i) {
      const Dim& next = elements[i].dim;
      out = op == ReduceOp::kSum   ? dims.Add(out, next)
            : op == ReduceOp::kMax ? dims.Max(out, next)
            : op == ReduceOp::kMin ? dims.Min(out, next)
                                   : dims.Mul(out, next);
    }
    return out;
  });
  if (!total) return std::nullopt;
  return x.builder().Of({*total}, x.dtype(), keep_dims ? std::vector<int64_t>{1} : std::vector<int64_t>{});
}

std::optional<Tensor> FoldElementsMove(const std::vector<Tensor>& xs,
                                       const std::function<Array(const std::vector<Array>& numbers)>& move) {
  if (std::none_of(xs.begin(), xs.end(), [](const Tensor& x) { return x.elements() != nullptr; })) return std::nullopt;
  Builder& builder = xs[0].builder();
  std::vector<Element> elements;
  std::vector<Array> numbers;
  for (const Tensor& x : xs) {
    const auto parts = builder.Parts(x);
    if (!parts || x.dtype() != xs[0].dtype()) return std::nullopt;
    std::vector<int64_t> own;
    for (const Element& part : *parts) {
      own.push_back(static_cast<int64_t>(elements.size()));
      elements.push_back(part);
    }
    numbers.push_back(Array::Integers(own).Reshaped(StaticShape(x)));
  }
  const Array moved = move(numbers);
  if (moved.size() > kMaxElements) return std::nullopt;
  std::vector<Element> out;
  for (int64_t i = 0; i < moved.size(); ++i) out.push_back(elements[static_cast<size_t>(moved.integer(i))]);
  return builder.Of(std::move(out), xs[0].dtype(), moved.shape());
}

}  // namespace tailor::frontend
