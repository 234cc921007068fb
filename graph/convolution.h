// Builders of convolutions and pools over windows of the spatial dims: pad, window, and a product or a reduction.
// Layouts are channels first: x is [N, C, D...], one D for each spatial dim, of any number.
#ifndef TAILOR_GRAPH_CONVOLUTION_H_
#define TAILOR_GRAPH_CONVOLUTION_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// One entry for each spatial dim; an empty list stands for all 1 (strides, dilations) or all 0 (low, high).
struct Windows {
  std::vector<int64_t> strides, dilations;
  Shape low, high;  // elements of padding before and after
};

// out[n, m, o...] = bias[m] + sum over c, k... of x[n, g C/groups + c, o * stride + k * dilation - low, ...] *
// weights[m, c, k...], where g is the group of m and x is 0 outside.
// Shapes: x [N, C, D...], weights [M, C / groups, K...], bias [M] (absent: node -1) -> [N, M, O...] with
//         O = max(floordiv(low + D + high - (K - 1) * dilation - 1, stride) + 1, 0).
absl::StatusOr<Value> Conv(Graph& graph, Value x, Value weights, Value bias, const Windows& windows, int64_t groups);

// The largest element of each window: [N, C, D...] -> [N, C, O...]. Padding is below every element.
absl::StatusOr<Value> MaxPool(Graph& graph, Value x, const Shape& sizes, const Windows& windows);
// The mean of each window, of the elements of x in it or of its padding too.
absl::StatusOr<Value> AveragePool(Graph& graph, Value x, const Shape& sizes, const Windows& windows,
                                  bool count_include_pad);

}  // namespace tailor

#endif  // TAILOR_GRAPH_CONVOLUTION_H_
