// Ops on floats that are quotients of dims: models round sizes in floating point, as in ceil(h / 2.0) * 2.
#ifndef TAILOR_BINDINGS_FRONTEND_QUOTIENT_H_
#define TAILOR_BINDINGS_FRONTEND_QUOTIENT_H_

#include <optional>

#include "bindings/frontend/dim.h"
#include "bindings/frontend/op_kinds.h"
#include "bindings/frontend/tensor.h"

namespace tailor::frontend {

// Each gives the quotient that the op results in, or nullopt if that is not known.
std::optional<Quotient> FoldQuotient(UnaryOp op, const Tensor& x);
std::optional<Quotient> FoldQuotient(BinaryOp op, const Tensor& lhs, const Tensor& rhs);
// A cast of a dim or a float to f32 or f64.
std::optional<Quotient> FoldQuotientCast(const Tensor& x, DType dtype);
// A cast of a float to an integer, which truncates.
std::optional<Dim> TruncatedQuotient(const Tensor& x);

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_QUOTIENT_H_
