// Named wrappers of primitives that several builders append.
#ifndef TAILOR_GRAPH_FORMULA_OPS_H_
#define TAILOR_GRAPH_FORMULA_OPS_H_

#include <cstdint>

#include "graph/formula.h"

namespace tailor {

inline Value And(Formula& f, Value a, Value b) { return f.Apply(OpKind::kAnd, {a, b}); }
inline Value Or(Formula& f, Value a, Value b) { return f.Apply(OpKind::kOr, {a, b}); }
inline Value Select(Formula& f, Value condition, Value a, Value b) {
  return f.Apply(OpKind::kSelect, {condition, a, b});
}
inline Value Cast(Formula& f, Value x, DType dtype) { return f.Apply(OpKind::kCast, {x}, {{"dtype", dtype}}); }
inline Value Reshaped(Formula& f, Value x, const Shape& shape) {
  return f.Apply(OpKind::kReshape, {x}, {{"shape", shape}});
}

// 0, 1, ..., dim_size - 1 as dtype[dim_size].
inline Value Positions(Formula& f, const DimExpr& dim_size, DType dtype = DType::kI64) {
  return f.Apply(OpKind::kIota, {}, {{"shape", Shape{dim_size}}, {"axis", int64_t{0}}, {"dtype", dtype}});
}

}  // namespace tailor

#endif  // TAILOR_GRAPH_FORMULA_OPS_H_
