// The operator table as text.
#ifndef TAILOR_BINDINGS_ONNX_OPERATORS_TEXT_H_
#define TAILOR_BINDINGS_ONNX_OPERATORS_TEXT_H_

#include <string>

namespace tailor::onnx {

// docs/onnx-operators.md.
std::string OperatorsText();

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_OPERATORS_TEXT_H_
