// Scalar semantics of the elementwise ops as the reference evaluator sees them (docs/ops.md), with error
// bounds: exact arithmetic in long double, and what a program that rounds to the element type may differ by.
#ifndef TAILOR_TESTS_SUPPORT_REFERENCE_SCALAR_H_
#define TAILOR_TESTS_SUPPORT_REFERENCE_SCALAR_H_

#include <vector>

#include "graph/ops.h"
#include "tests/support/reference_array.h"

namespace tailor::reference {

// Applies an elementwise op other than cast. `dtype` is that of the last operand.
Element Apply(OpKind op, DType dtype, const std::vector<Element>& args);

Element Cast(DType from, DType to, const Element& x);

// A float result computed with `error` so far and one more rounding to `dtype`, or `roundings` of them. Beyond the
// largest number it is an infinity, and near it unknown.
Element Rounded(DType dtype, long double value, long double error, long double roundings = 1);

}  // namespace tailor::reference

#endif  // TAILOR_TESTS_SUPPORT_REFERENCE_SCALAR_H_
