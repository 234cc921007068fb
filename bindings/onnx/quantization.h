// Arithmetic on quantized tensors: integers with a scale and a zero point.
#ifndef TAILOR_BINDINGS_ONNX_QUANTIZATION_H_
#define TAILOR_BINDINGS_ONNX_QUANTIZATION_H_

#include <optional>

#include "bindings/frontend/tensor.h"
#include "bindings/onnx/node.h"

namespace tailor::onnx {

// saturate(round(x) + zero); `zero` may be absent.
frontend::Tensor Quantized(const frontend::Tensor& x, const frontend::Tensor& zero, DType dtype);

struct QuantizedTensor {
  frontend::Tensor values, scale, zero;
};
// x in u8, with the scale and zero point that its range and 0 take.
QuantizedTensor DynamicallyQuantized(const frontend::Tensor& x);

// A scale or zero point: one number, a list for a dim that `behind` others follow, or a tensor that broadcasts.
frontend::Tensor Spread(const frontend::Tensor& part, int behind);

// x - zero in `dtype`; `zero`, spread over x, may be absent.
frontend::Tensor Shifted(const frontend::Tensor& x, const frontend::Tensor& zero, int behind,
                         DType dtype = DType::kI32);

// (a - a_zero) x (b - b_zero) in i32. Rows of a and columns of b may have their own zero points.
frontend::Tensor IntegerProduct(const frontend::Tensor& a, const frontend::Tensor& a_zero, const frontend::Tensor& b,
                                const frontend::Tensor& b_zero);

// lhs x rhs of dequantized tensors, computed by their integers: u8 by i8, whose sums are exact before they are scaled.
// nullopt unless lhs has one scale and zero point, rhs is constant, with one or one for each column, and fits i8, and K
// is so small that no sum wraps. transpose_rhs: rhs is [N, K].
std::optional<frontend::Tensor> QuantizedProduct(const frontend::Tensor& lhs, const frontend::Tensor& rhs,
                                                 bool transpose_rhs = false);

// The same for the convolution of `node`, Conv, of x with weight, which has one scale and zero point, or one for each
// output channel. `bias` may be absent. nullopt, too, for depthwise convolutions.
std::optional<frontend::Tensor> QuantizedConvolution(const Node& node, const frontend::Tensor& x,
                                                     const frontend::Tensor& weight, const frontend::Tensor& bias);

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_QUANTIZATION_H_
