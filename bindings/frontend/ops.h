// Ops on the tensors of one Builder: each folds what is known and appends the rest to the graph.
//
// Folding: an op on constants is evaluated if its result has at most as many elements as its operands together, or
// kMaxElements, while there is room for growth (Builder::TakeGrowth). Integer arithmetic and moves of known elements
// give known elements. Semantics: docs/ops.md.
// A number beside a tensor takes its dtype. Negative axes count from the end.
#ifndef TAILOR_BINDINGS_FRONTEND_OPS_H_
#define TAILOR_BINDINGS_FRONTEND_OPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bindings/frontend/builder.h"
#include "bindings/frontend/op_kinds.h"
#include "bindings/frontend/tensor.h"

namespace tailor::frontend {

// A tensor, or a number that takes the dtype of the operand beside it.
class Operand {
 public:
  Operand(Tensor tensor) : operand_(std::move(tensor)) {}  // NOLINT(runtime/explicit)
  Operand(double number) : operand_(number) {}             // NOLINT(runtime/explicit)
  Operand(int64_t number) : operand_(number) {}            // NOLINT(runtime/explicit)
  Operand(int number) : operand_(int64_t{number}) {}       // NOLINT(runtime/explicit)

  bool is_number() const { return !std::holds_alternative<Tensor>(operand_); }
  // The tensor, or the number in other's dtype. An absent tensor fails where it is used.
  Tensor Like(const Tensor& other) const;
  const Tensor& tensor() const { return std::get<Tensor>(operand_); }  // requires !is_number()

 private:
  std::variant<Tensor, double, int64_t> operand_;
};

Tensor Unary(UnaryOp op, const Tensor& x);
Tensor Binary(BinaryOp op, const Operand& lhs, const Operand& rhs);  // at least one is a tensor

inline Tensor Neg(const Tensor& x) { return Unary(UnaryOp::kNeg, x); }
inline Tensor Abs(const Tensor& x) { return Unary(UnaryOp::kAbs, x); }
inline Tensor Exp(const Tensor& x) { return Unary(UnaryOp::kExp, x); }
inline Tensor Log(const Tensor& x) { return Unary(UnaryOp::kLog, x); }
inline Tensor Tanh(const Tensor& x) { return Unary(UnaryOp::kTanh, x); }
inline Tensor Erf(const Tensor& x) { return Unary(UnaryOp::kErf, x); }
inline Tensor Sqrt(const Tensor& x) { return Unary(UnaryOp::kSqrt, x); }
inline Tensor Rsqrt(const Tensor& x) { return Unary(UnaryOp::kRsqrt, x); }
inline Tensor Sigmoid(const Tensor& x) { return Unary(UnaryOp::kSigmoid, x); }
inline Tensor Not(const Tensor& x) { return Unary(UnaryOp::kNot, x); }
inline Tensor Floor(const Tensor& x) { return Unary(UnaryOp::kFloor, x); }
inline Tensor Ceil(const Tensor& x) { return Unary(UnaryOp::kCeil, x); }
inline Tensor Round(const Tensor& x) { return Unary(UnaryOp::kRound, x); }
inline Tensor Sin(const Tensor& x) { return Unary(UnaryOp::kSin, x); }
inline Tensor Cos(const Tensor& x) { return Unary(UnaryOp::kCos, x); }

inline Tensor operator+(const Tensor& a, const Operand& b) { return Binary(BinaryOp::kAdd, a, b); }
inline Tensor operator-(const Tensor& a, const Operand& b) { return Binary(BinaryOp::kSub, a, b); }
inline Tensor operator*(const Tensor& a, const Operand& b) { return Binary(BinaryOp::kMul, a, b); }
inline Tensor operator/(const Tensor& a, const Operand& b) { return Binary(BinaryOp::kDiv, a, b); }
inline Tensor operator<(const Tensor& a, const Operand& b) { return Binary(BinaryOp::kLt, a, b); }
inline Tensor operator<=(const Tensor& a, const Operand& b) { return Binary(BinaryOp::kLe, a, b); }
inline Tensor operator>(const Tensor& a, const Operand& b) { return Binary(BinaryOp::kGt, a, b); }
inline Tensor operator>=(const Tensor& a, const Operand& b) { return Binary(BinaryOp::kGe, a, b); }
inline Tensor operator&(const Tensor& a, const Operand& b) { return Binary(BinaryOp::kAnd, a, b); }
inline Tensor operator|(const Tensor& a, const Operand& b) { return Binary(BinaryOp::kOr, a, b); }
inline Tensor operator-(const Tensor& a) { return Neg(a); }
inline Tensor operator-(double a, const Tensor& b) { return Binary(BinaryOp::kSub, a, b); }
inline Tensor operator/(double a, const Tensor& b) { return Binary(BinaryOp::kDiv, a, b); }
inline Tensor Eq(const Tensor& a, const Operand& b) { return Binary(BinaryOp::kEq, a, b); }
inline Tensor Ne(const Tensor& a, const Operand& b) { return Binary(BinaryOp::kNe, a, b); }
inline Tensor Max(const Tensor& a, const Operand& b) { return Binary(BinaryOp::kMax, a, b); }
inline Tensor Min(const Tensor& a, const Operand& b) { return Binary(BinaryOp::kMin, a, b); }
inline Tensor Pow(const Tensor& a, const Operand& b) { return Binary(BinaryOp::kPow, a, b); }
inline Tensor Mod(const Tensor& a, const Operand& b) { return Binary(BinaryOp::kMod, a, b); }

// At least one of on_true and on_false is a tensor.
Tensor Select(const Tensor& condition, const Operand& on_true, const Operand& on_false);
Tensor Cast(const Tensor& x, DType dtype);  // x itself if it has that dtype
Tensor Bitcast(const Tensor& x, DType dtype);

Tensor Reduce(ReduceOp op, const Tensor& x, const std::vector<int64_t>& axes, bool keep_dims = false);
// Combiner: "add", "mul", "max" or "min".
Tensor Scan(const Tensor& x, int64_t axis, const std::string& combiner, bool reverse, bool exclusive);

Tensor Broadcast(const Tensor& x, const Shape& shape);
Tensor Reshape(const Tensor& x, const Shape& shape);
bool IsOneElement(const Tensor& x);  // whether all dims are known to be 1
Tensor Transpose(const Tensor& x, const std::vector<int64_t>& permutation);
Tensor MoveAxis(const Tensor& x, int64_t from, int64_t to);  // axes from the front, of any narrow type
Tensor InsertAxis(const Tensor& x, int64_t axis);            // a dim of size 1 before `axis`; of any narrow type
Tensor Slice(const Tensor& x, const Shape& starts, const Shape& sizes, const std::vector<int64_t>& steps = {});
// x[..., start + i * step, ...] for i < size along one axis.
Tensor SliceAxis(const Tensor& x, int64_t axis, const Dim& start, const Dim& size, int64_t step = 1);
Tensor Concat(const std::vector<Tensor>& xs, int64_t axis);
Tensor Gather(const Tensor& x, const Tensor& indices, int64_t axis = 0);  // indices i32 or i64
Tensor Iota(Builder& builder, const Shape& shape, int64_t axis, DType dtype);
// A constant folds if it grows to at most 16 times its size: weights that are padded stay constants.
Tensor Pad(const Tensor& x, const Operand& value, const Shape& low, const Shape& high,
           const std::vector<int64_t>& interior = {});
Tensor Window(const Tensor& x, const std::vector<int64_t>& axes, const Shape& sizes,
              const std::vector<int64_t>& strides, const std::vector<int64_t>& dilations);
// Combiner: "set", "add", "mul", "max" or "min".
Tensor Scatter(const Tensor& x, const Tensor& indices, const Tensor& updates, const std::string& combiner);
Tensor Dot(const Tensor& lhs, const Tensor& rhs, bool transpose_lhs = false, bool transpose_rhs = false);

Tensor Softmax(const Tensor& x, int64_t axis);
Tensor LogSoftmax(const Tensor& x, int64_t axis);
Tensor Gelu(const Tensor& x);
Tensor GeluTanh(const Tensor& x);
// As tailor_graph_conv; `bias` may be absent.
Tensor Conv(const Tensor& x, const Tensor& weights, const Tensor& bias, int64_t groups,
            const std::vector<int64_t>& strides, const std::vector<int64_t>& dilations, const Shape& low,
            const Shape& high);
struct ValuesAndIndices {
  Tensor values, indices;
};
ValuesAndIndices TopK(const Tensor& x, const Dim& count, int64_t axis, bool largest);
Tensor Compact(const Tensor& x, const Tensor& mask);
Tensor NonZero(const Tensor& x);
struct UniqueElements {
  Tensor values, indices, inverse, counts;
};
// The distinct elements of x, or its distinct slices along an axis. As tailor_graph_unique.
UniqueElements Unique(const Tensor& x, std::optional<int64_t> axis, bool sorted);

// function(x), for f16 and bf16 computed in f32 and rounded once.
template <typename Function>
Tensor ThroughF32(const Tensor& x, Function function) {
  if (x.dtype() != DType::kF16 && x.dtype() != DType::kBF16) return function(x);
  return Cast(function(Cast(x, DType::kF32)), x.dtype());
}

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_OPS_H_
