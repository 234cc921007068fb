#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bindings/frontend/elements.h"
#include "bindings/frontend/error.h"
#include "bindings/frontend/evaluate.h"
#include "bindings/frontend/fold.h"
#include "bindings/frontend/ops.h"

namespace tailor::frontend {
namespace {

template <typename Options>
using ReduceFunction = tailor_status* (*)(tailor_graph*, tailor_value, const int64_t*, size_t, const Options*,
                                          tailor_value*);

template <typename Options>
Tensor AppendReduce(ReduceFunction<Options> function, void (*init)(Options*), const Tensor& x,
                    const std::vector<int64_t>& axes, bool keep_dims) {
  Options options;
  init(&options);
  options.keep_dims = keep_dims ? 1 : 0;
  return x.builder().Append({x}, [&](tailor_value* out) {
    return function(x.builder().graph(), x.value(), axes.data(), axes.size(), &options, out);
  });
}

// Products of constants that are evaluated, at most: about half a second.
constexpr int64_t kMostProducts = int64_t{1} << 28;

// A matrix, transposed if `transpose`.
Tensor Matrix(const Tensor& x, bool transpose) {
  if (!transpose) return x;
  std::vector<int64_t> order(static_cast<size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return x.builder().Constant(EvaluateTranspose(*x.array(), order));
}

// The number of elements of a reduction; it exceeds x's where x has none.
int64_t ReducedSize(const Array& x, const std::vector<int64_t>& axes) {
  std::vector<int64_t> kept = x.shape();
  for (int64_t axis : axes) kept[static_cast<size_t>(axis)] = 1;
  return CountOf(kept);
}

// Whether the matmul of two constants is evaluated: f32 or f64 of at least rank 2, whose result is no larger than they.
bool FoldsDot(const Tensor& lhs, const Tensor& rhs, bool transpose_lhs, bool transpose_rhs) {
  if (lhs.array() == nullptr || rhs.array() == nullptr || lhs.dtype() != rhs.dtype()) return false;
  if (lhs.dtype() != DType::kF32 && lhs.dtype() != DType::kF64) return false;
  if (lhs.rank() < 2 || rhs.rank() < 2 || lhs.array()->size() == 0 || rhs.array()->size() == 0) return false;
  const auto &a = lhs.array()->shape(), &b = rhs.array()->shape();
  const int64_t rows = a.end()[transpose_lhs ? -1 : -2], depth = a.end()[transpose_lhs ? -2 : -1];
  const int64_t columns = b.end()[transpose_rhs ? -2 : -1];
  if (b.end()[transpose_rhs ? -1 : -2] != depth) return false;
  const std::vector<int64_t> outer_a(a.begin(), a.end() - 2), outer_b(b.begin(), b.end() - 2);
  std::vector<int64_t> shape = BroadcastShape(outer_a, outer_b);
  shape.insert(shape.end(), {rows, columns});
  const int64_t elements = CountOf(shape);
  return elements <= kMostProducts / depth && Folds(elements, {lhs, rhs});
}

}  // namespace

Tensor Reduce(ReduceOp op, const Tensor& x, const std::vector<int64_t>& given, bool keep_dims) {
  std::vector<int64_t> axes;
  for (int64_t axis : given) axes.push_back(axis < 0 ? axis + x.rank() : axis);
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= x.rank()) Fail("an axis is out of range for rank " + std::to_string(x.rank()));
  }
  const bool takes = op == ReduceOp::kMean ? IsFloat(x.dtype()) : x.dtype() != DType::kBool;
  if (takes && x.array() != nullptr && Folds(ReducedSize(*x.array(), axes), {x})) {
    return x.builder().Constant(EvaluateReduce(op, *x.array(), axes, keep_dims));
  }
  if (takes) {
    if (auto folded = FoldElementsReduce(op, x, axes, keep_dims)) return *folded;
  }
  switch (op) {
    case ReduceOp::kSum:
      return AppendReduce(tailor_graph_reduce_sum, tailor_reduce_sum_options_init, x, axes, keep_dims);
    case ReduceOp::kMax:
      return AppendReduce(tailor_graph_reduce_max, tailor_reduce_max_options_init, x, axes, keep_dims);
    case ReduceOp::kMin:
      return AppendReduce(tailor_graph_reduce_min, tailor_reduce_min_options_init, x, axes, keep_dims);
    case ReduceOp::kMean:
      return AppendReduce(tailor_graph_reduce_mean, tailor_reduce_mean_options_init, x, axes, keep_dims);
    case ReduceOp::kProd:
      break;
  }
  return AppendReduce(tailor_graph_reduce_prod, tailor_reduce_prod_options_init, x, axes, keep_dims);
}

Tensor Scan(const Tensor& x, int64_t axis, const std::string& combiner, bool reverse, bool exclusive) {
  tailor_scan_options options;
  tailor_scan_options_init(&options);
  options.reverse = reverse ? 1 : 0;
  options.exclusive = exclusive ? 1 : 0;
  return x.builder().Append({x}, [&](tailor_value* out) {
    return tailor_graph_scan(x.builder().graph(), x.value(), axis, combiner.data(), combiner.size(), &options, out);
  });
}

Tensor Scatter(const Tensor& x, const Tensor& indices, const Tensor& updates, const std::string& combiner) {
  return x.builder().Append({x, indices, updates}, [&](tailor_value* out) {
    return tailor_graph_scatter(x.builder().graph(), x.value(), indices.value(), updates.value(), combiner.data(),
                                combiner.size(), out);
  });
}

Tensor Dot(const Tensor& lhs, const Tensor& rhs, bool transpose_lhs, bool transpose_rhs) {
  if (FoldsDot(lhs, rhs, transpose_lhs, transpose_rhs)) {
    return lhs.builder().Constant(
        EvaluateDot(*Matrix(lhs, transpose_lhs).array(), *Matrix(rhs, transpose_rhs).array()));
  }
  tailor_dot_options options;
  tailor_dot_options_init(&options);
  options.transpose_lhs = transpose_lhs ? 1 : 0;
  options.transpose_rhs = transpose_rhs ? 1 : 0;
  return lhs.builder().Append({lhs, rhs}, [&](tailor_value* out) {
    return tailor_graph_dot(lhs.builder().graph(), lhs.value(), rhs.value(), &options, out);
  });
}

Tensor Softmax(const Tensor& x, int64_t axis) {
  if (x.array() != nullptr && IsFloat(x.dtype())) {
    return ThroughF32(x, [&](const Tensor& wide) {
      const Tensor power = Exp(wide - Reduce(ReduceOp::kMax, wide, {axis}, /*keep_dims=*/true));
      return power / Reduce(ReduceOp::kSum, power, {axis}, /*keep_dims=*/true);
    });
  }
  return x.builder().Append(
      {x}, [&](tailor_value* out) { return tailor_graph_softmax(x.builder().graph(), x.value(), axis, out); });
}

Tensor LogSoftmax(const Tensor& x, int64_t axis) {
  if (x.array() != nullptr && IsFloat(x.dtype())) return Log(Softmax(x, axis));
  return x.builder().Append(
      {x}, [&](tailor_value* out) { return tailor_graph_log_softmax(x.builder().graph(), x.value(), axis, out); });
}

Tensor Gelu(const Tensor& x) {
  return x.builder().Append({x},
                            [&](tailor_value* out) { return tailor_graph_gelu(x.builder().graph(), x.value(), out); });
}

Tensor GeluTanh(const Tensor& x) {
  return x.builder().Append(
      {x}, [&](tailor_value* out) { return tailor_graph_gelu_tanh(x.builder().graph(), x.value(), out); });
}

Tensor Conv(const Tensor& x, const Tensor& weights, const Tensor& bias, int64_t groups,
            const std::vector<int64_t>& strides, const std::vector<int64_t>& dilations, const Shape& low,
            const Shape& high) {
  Builder& builder = x.builder();
  const auto before = builder.dims().Handles(low), after = builder.dims().Handles(high);
  tailor_spatial_options options;
  tailor_spatial_options_init(&options);
  options.rank = strides.size();
  options.strides = strides.data();
  options.dilations = dilations.data();
  options.low = before.data();
  options.high = after.data();
  std::vector<Tensor> operands = {x, weights};
  if (bias) operands.push_back(bias);
  return builder.Append(operands, [&](tailor_value* out) {
    return tailor_graph_conv(builder.graph(), x.value(), weights.value(), bias ? bias.value() : 0, groups, &options,
                             out);
  });
}

ValuesAndIndices TopK(const Tensor& x, const Dim& count, int64_t axis, bool largest) {
  Builder& builder = x.builder();
  const tailor_dim k = builder.dims().Handle(count);
  const auto out = builder.AppendSeveral({x}, 2, [&](tailor_value* outs) {
    return tailor_graph_top_k(builder.graph(), x.value(), k, axis, largest ? 1 : 0, &outs[0], &outs[1]);
  });
  return {out[0], out[1]};
}

Tensor Compact(const Tensor& x, const Tensor& mask) {
  return x.builder().Append({x, mask}, [&](tailor_value* out) {
    return tailor_graph_compact(x.builder().graph(), x.value(), mask.value(), out);
  });
}

Tensor NonZero(const Tensor& x) {
  if (x.array() != nullptr) return x.builder().Constant(EvaluateNonZero(*x.array()));
  return x.builder().Append(
      {x}, [&](tailor_value* out) { return tailor_graph_nonzero(x.builder().graph(), x.value(), out); });
}

UniqueElements Unique(const Tensor& x, std::optional<int64_t> axis, bool sorted) {
  const int64_t* along = axis ? &*axis : nullptr;
  const auto out = x.builder().AppendSeveral({x}, 4, [&](tailor_value* outs) {
    return tailor_graph_unique(x.builder().graph(), x.value(), along, sorted ? 1 : 0, &outs[0], &outs[1], &outs[2],
                               &outs[3]);
  });
  return {out[0], out[1], out[2], out[3]};
}

}  // namespace tailor::frontend
