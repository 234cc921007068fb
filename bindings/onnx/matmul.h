// Matrix products as numpy's matmul defines them.
#ifndef TAILOR_BINDINGS_ONNX_MATMUL_H_
#define TAILOR_BINDINGS_ONNX_MATMUL_H_

#include "bindings/frontend/tensor.h"

namespace tailor::onnx {

// lhs [B..., M, K] x rhs [B..., K, N]; batch dims broadcast. An operand of rank 1 is a vector [K], whose dim the result
// lacks. Fails for rank 0.
frontend::Tensor BatchedMatmul(const frontend::Tensor& lhs, const frontend::Tensor& rhs);

}  // namespace tailor::onnx

#endif  // TAILOR_BINDINGS_ONNX_MATMUL_H_
