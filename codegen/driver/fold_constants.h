// Constant folding: values that are the same in every run, and costly to compute, become constants of the artifact.
#ifndef TAILOR_CODEGEN_DRIVER_FOLD_CONSTANTS_H_
#define TAILOR_CODEGEN_DRIVER_FOLD_CONSTANTS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"

namespace tailor::driver {

// Computes the outputs of `graph`, which has neither inputs nor symbols: their dense row-major bytes, in order.
using EvaluateConstants = std::function<absl::StatusOr<std::vector<ConstantData>>(const Graph& graph)>;

// Cycles are those of the op table: estimated, per vector of results.
struct FoldLimits {
  // A value is folded if its computation takes this many cycles per vector of its elements: reading a vector from
  // memory takes about 25, and what is computed from few bytes stays cheaper to compute.
  int64_t cycles_per_vector = 64;
  // Nothing is folded if all folded values together take fewer cycles * elements: 0.1 ms of a run would not repay the
  // compilation of the constant subgraph.
  int64_t least_cycles = int64_t{1} << 22;
  // Nothing is folded either if they take more, or if one of the values on the way to them has more bytes.
  int64_t most_cycles = int64_t{1} << 38;
  int64_t most_bytes = int64_t{1} << 30;
  // A folded value exceeds the largest constant that it is computed from by at most this many bytes.
  int64_t growth_bytes = int64_t{1} << 20;
};

// Foldable nodes read constants and foldable nodes only, have constant dim sizes everywhere, and cannot fail: no
// gather, scatter, region or custom operator. Constants given by their hash alone are not folded.
//
// Preserves: types, names, and values up to the accuracy bounds of docs/ops.md. Calls `evaluate` at most once. Errors:
// those of `evaluate`.
absl::StatusOr<Graph> FoldConstants(const Graph& graph, const EvaluateConstants& evaluate,
                                    const FoldLimits& limits = {});

}  // namespace tailor::driver

#endif  // TAILOR_CODEGEN_DRIVER_FOLD_CONSTANTS_H_
