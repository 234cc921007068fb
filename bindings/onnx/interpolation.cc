#include "bindings/onnx/interpolation.h"

#include "bindings/frontend/ops.h"

namespace tailor::onnx {
namespace {

using frontend::Tensor;

Tensor LinearWeight(const Tensor& distance, double) { return Max(1.0 - Abs(distance), 0.0); }

Tensor CubicWeight(const Tensor& distance, double a) {
  const Tensor x = Abs(distance);
  const Tensor near = (x * (a + 2) - (a + 3)) * x * x + 1.0;
  const Tensor far = (((x - 5.0) * x + 8.0) * x - 4.0) * a;
  return Select(x <= 1.0, near, Select(x < 2.0, far, 0.0));
}

}  // namespace

const Interpolation kLinear{1, LinearWeight}, kCubic{2, CubicWeight};

}  // namespace tailor::onnx
