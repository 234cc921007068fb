// Conversion of one tensor element between bytes, double and text. f16 and bf16 round to nearest even. Text is the
// shortest that reads back to the same bits.
#ifndef TAILOR_GRAPH_ELEMENT_H_
#define TAILOR_GRAPH_ELEMENT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "graph/dtype.h"
#include "graph/native.h"

namespace tailor {

// The dtype with this name ("f32"); kInvalid if there is none.
DType DTypeOf(absl::string_view name);

// Writes SizeOf(dtype) bytes. Integers saturate and map NaN to 0; bool is value != 0.
void ElementFromDouble(DType dtype, double value, void* element);
// The nearest double: exact, except for integers above 2^53. true is 1.
double ElementToDouble(DType dtype, const void* element);

// "0.5", "-3", "true", "inf", "nan" (any NaN).
std::string ElementText(DType dtype, const void* element);

// False if `text` is not a value of `dtype`.
bool ParseElement(DType dtype, absl::string_view text, void* element);

// Shortest text that reads back to the same double.
std::string DoubleText(double value);

}  // namespace tailor

#endif  // TAILOR_GRAPH_ELEMENT_H_
