// Builders of convolutions and pooling over windows of the spatial dims: pad, window, then a matmul or a reduction.
// Layout is channels first: x is [N, C, D...], with one D per spatial dim; any number of spatial dims.
#ifndef TAILOR_GRAPH_CONVOLUTION_H_
#define TAILOR_GRAPH_CONVOLUTION_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor {

// One entry per spatial dim; an empty list means all 1 (strides, dilations) or all 0 (low, high).
struct Windows {
  std::vector<int64_t> strides, dilations;
  Shape low, high;  // elements of padding before the first and after the last one
};

// out[n, m, o...] = bias[m] + sum over c, k... of x[n, g C/groups + c, o * stride + k * dilation - low, ...] *
// weights[m, c, k...], where g is the group of m and x is 0 out of range.
// Shapes: x [N, C, D...], weights [M, C / groups, K...], bias [M] (absent: node -1) -> [N, M, O...] with
//         O = max(floordiv(low + D + high - (K - 1) * dilation - 1, stride) + 1, 0).
absl::StatusOr<Value> Conv(Graph& graph, Value x, Value weights, Value bias, const Windows& windows, int64_t groups);

// The maximum of each window: [N, C, D...] -> [N, C, O...]. Padding is below every element.
absl::StatusOr<Value> MaxPool(Graph& graph, Value x, const Shape& sizes, const Windows& windows);
// The mean of each window: over its elements of x only, or with `count_include_pad` over its padding (zeros) too.
absl::StatusOr<Value> AveragePool(Graph& graph, Value x, const Shape& sizes, const Windows& windows,
                                  bool count_include_pad);

}  // namespace tailor

#endif  // TAILOR_GRAPH_CONVOLUTION_H_
