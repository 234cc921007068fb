// Idioms: expressions of a plan that are cheaper to compute as a whole than op by op, found by their structure.
#ifndef TAILOR_CODEGEN_PLAN_IDIOMS_IDIOMS_H_
#define TAILOR_CODEGEN_PLAN_IDIOMS_IDIOMS_H_

#include <optional>

#include "codegen/plan/kernel_plan.h"

namespace tailor {

struct Gelu {
  ExprId x = -1;
  OpKind op{};  // kErf or kTanh
};

// Matches `product` = x / 2 (1 + erf(x / sqrt(2))) or x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) in f32, with
// factors in any order and the polynomial in any form.
std::optional<Gelu> GeluOf(const KernelPlan& plan, const Expr& product);

struct Requantized {
  ExprId value = -1;  // f32: an integer, infinite or NaN
  DType type{};       // of 8 or 16 bits
  ExprId zero = -1;   // the zero point, an i32; -1: 0
};

// The largest magnitude of a zero point: its sums and differences with integers of 16 bits are exact in f32.
inline constexpr int64_t kLargestZeroPoint = 1 << 16;

// Matches the f32 of what a rounded value, converted to a narrow integer, exceeds the zero point by, as where a
// quantized tensor is dequantized at once: it need not become an integer.
std::optional<Requantized> RequantizedOf(const KernelPlan& plan, const Expr& cast);

// Whether `power` is exp(x - max(x)), as in a softmax.
bool IsExpMinusMax(const KernelPlan& plan, const Expr& power);

// Whether `quotient` is exp(x - m) / s, with m = max(x) and s the sum of exp(x - m) over the same axes. Then 1 <= s <=
// number of elements, or s is NaN.
bool IsSoftmaxNormalize(const KernelPlan& plan, const Expr& quotient);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_IDIOMS_IDIOMS_H_
