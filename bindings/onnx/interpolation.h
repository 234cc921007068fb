// Weights of neighbours for a place between elements.
#ifndef TAILOR_BINDINGS_ONNX_INTERPOLATION_H_
#define TAILOR_BINDINGS_ONNX_INTERPOLATION_H_

#include "bindings/frontend/tensor.h"

namespace tailor::onnx {

// The weight of a neighbour at a distance. Neighbours at `support` or further have weight 0. `a`: of the cubic
// convolution.
struct Interpolation {
  int support;
  frontend::Tensor (*weight)(const frontend::Tensor& distance, double a);
};

extern const Interpolation kLinear, kCubic;

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_INTERPOLATION_H_
