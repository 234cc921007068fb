// Recognizes reductions over windows of an image (pools, depthwise convolutions) in a kernel plan.
#ifndef TAILOR_CODEGEN_CPU_LOOPS_WINDOWED_REDUCTION_H_
#define TAILOR_CODEGEN_CPU_LOOPS_WINDOWED_REDUCTION_H_

#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "codegen/plan/kernel_plan.h"

namespace tailor::cpu {

// One dim of the image: step k of the window of result o reads element o * stride + k * dilation.
struct WindowSide {
  int result = -1, window = -1;  // axes
  int64_t size = 1, stride = 1, dilation = 1;
  int64_t reach() const { return (size - 1) * dilation; }
  // The axis that numbers the image's elements where the other axis is 0: the one with coefficient 1.
  int position() const { return dilation == 1 ? window : result; }
  int origin() const { return dilation == 1 ? result : window; }
  friend bool operator==(const WindowSide&, const WindowSide&) = default;
};

struct WindowedReduction {
  std::vector<int> outer;         // the other parallel axes
  std::vector<WindowSide> sides;  // one or two
  int contiguous = -1;            // the axis along which image and results are contiguous: see is_channels_last
  ExprId image = -1;  // the value that windows read, padding included: depends on a side only by the element's number

  // Elements of a window, and elements of the image for each result.
  int64_t steps() const {
    return std::accumulate(sides.begin(), sides.end(), int64_t{1}, [](int64_t n, const auto& s) { return n * s.size; });
  }
  int64_t strides() const {
    return std::accumulate(sides.begin(), sides.end(), int64_t{1},
                           [](int64_t n, const auto& s) { return n * s.stride; });
  }
  // Whether a window has too many elements for straight code: its rows are a loop.
  static constexpr int64_t kMostStraightSteps = 128;
  bool is_long() const { return steps() > kMostStraightSteps; }
  // Whether the contiguous axis is an outer one, that of channels, instead of the last side's result.
  bool is_channels_last() const { return contiguous != sides.back().result; }
};

// nullopt if `plan` is not such a reduction, or if windows share few elements.
std::optional<WindowedReduction> FindWindowedReduction(const KernelPlan& plan);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_LOOPS_WINDOWED_REDUCTION_H_
