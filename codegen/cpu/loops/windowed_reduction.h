// Reductions over windows of an image (pools, depthwise convolutions), as a plan says them.
#ifndef TAILOR_CODEGEN_CPU_LOOPS_WINDOWED_REDUCTION_H_
#define TAILOR_CODEGEN_CPU_LOOPS_WINDOWED_REDUCTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace tailor::cpu {

// Along one dim of the image: the element that result number o and step k of its window read is number
// o * stride + k * dilation.
struct WindowSide {
  int result = -1, window = -1;  // axes
  int64_t size = 1, stride = 1, dilation = 1;
  int64_t reach() const { return (size - 1) * dilation; }
  // The axis that numbers the image's elements where the other one is 0: the one that counts by one.
  int position() const { return dilation == 1 ? window : result; }
  int origin() const { return dilation == 1 ? result : window; }
};

struct WindowedReduction {
  std::vector<int> outer;         // the other parallel axes
  std::vector<WindowSide> sides;  // one or two; results along the last lie side by side, and so do the image's elements
  ExprId image = -1;  // what windows read, padding included: it depends on a side by the element's number alone
};

// None where `plan` is no reduction over such windows, or where few elements are in several of them.
std::optional<WindowedReduction> FindWindowedReduction(const KernelPlan& plan);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_WINDOWED_REDUCTION_H_
