// Evaluates primitive ops on constants, so that a front end sees numbers where a model computes them from constants.
//
// Semantics: those of docs/ops.md. f16 and bf16 compute in f32 and round once. Operand types and shapes must be valid
// for the op; the callers in frontend/ops.cc check them.
#ifndef TAILOR_BINDINGS_FRONTEND_EVALUATE_H_
#define TAILOR_BINDINGS_FRONTEND_EVALUATE_H_

#include <cstdint>
#include <vector>

#include "bindings/frontend/array.h"
#include "bindings/frontend/op_kinds.h"

namespace tailor::frontend {

Array Evaluate(UnaryOp op, const Array& x);
Array Evaluate(BinaryOp op, const Array& lhs, const Array& rhs);  // broadcasts; comparisons give bool
Array EvaluateSelect(const Array& condition, const Array& on_true, const Array& on_false);
Array EvaluateCast(const Array& x, DType dtype);
Array EvaluateReduce(ReduceOp op, const Array& x, const std::vector<int64_t>& axes, bool keep_dims);

Array EvaluateBroadcast(const Array& x, const std::vector<int64_t>& shape);
Array EvaluateTranspose(const Array& x, const std::vector<int64_t>& permutation);
Array EvaluateSlice(const Array& x, const std::vector<int64_t>& starts, const std::vector<int64_t>& sizes,
                    const std::vector<int64_t>& steps);
// Element i of dim d goes to low[d] + i * (interior[d] + 1), which lies within `shape`; `value` is elsewhere.
Array EvaluatePad(const Array& x, const Array& value, const std::vector<int64_t>& shape,
                  const std::vector<int64_t>& low, const std::vector<int64_t>& interior);
Array EvaluateConcat(const std::vector<Array>& xs, int64_t axis);
// Indices below 0 count from the end. Throws Error for one out of range.
Array EvaluateGather(const Array& x, const Array& indices, int64_t axis);
// Indices of the nonzero elements in row-major order: i64 [rank, count].
Array EvaluateNonZero(const Array& x);
Array EvaluateIota(const std::vector<int64_t>& shape, int64_t axis, DType dtype);

// [..., M, K] and [..., K, N], f32 or f64; outer dims broadcast.
Array EvaluateDot(const Array& lhs, const Array& rhs);

// The broadcast shape; throws Error for shapes that do not broadcast.
std::vector<int64_t> BroadcastShape(const std::vector<int64_t>& lhs, const std::vector<int64_t>& rhs);

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_EVALUATE_H_
