// The logarithm of 1 + x, which operators of several families compute.
#ifndef TAILOR_BINDINGS_ONNX_LOG1P_H_
#define TAILOR_BINDINGS_ONNX_LOG1P_H_

#include "bindings/frontend/tensor.h"

namespace tailor::onnx {

// log(1 + x) for finite x >= 0, accurate for small x.
frontend::Tensor Log1p(const frontend::Tensor& x);

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_LOG1P_H_
