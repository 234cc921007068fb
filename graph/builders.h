// Builders of compound operations: they append primitives, so that fusion sees through them (TSCompiler section 4.1,
// compound op splitting). Each returns the result value, or the error of the first primitive that failed; nodes
// appended before the error stay in the graph, unused. For f16 and bf16, Softmax, LogSoftmax, LayerNorm and L2Normalize
// compute in f32 and round their result once.
#ifndef TAILOR_GRAPH_BUILDERS_H_
#define TAILOR_GRAPH_BUILDERS_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/scalar_values.h"

namespace tailor {

absl::StatusOr<Value> Softmax(Graph& graph, Value x, int64_t axis);
absl::StatusOr<Value> LogSoftmax(Graph& graph, Value x, int64_t axis);
// Normalizes over the last axis; scale and bias have shape [C] and may be absent (node -1).
absl::StatusOr<Value> LayerNorm(Graph& graph, Value x, Value scale, Value bias, double epsilon);
absl::StatusOr<Value> GeluErf(Graph& graph, Value x);   // x/2 (1 + erf(x/sqrt 2))
absl::StatusOr<Value> GeluTanh(Graph& graph, Value x);  // the tanh approximation
// x / max(||x||_2, epsilon) along `axis`.
absl::StatusOr<Value> L2Normalize(Graph& graph, Value x, int64_t axis, double epsilon);
// softmax(query key^T * scale + mask) value.
// Shapes: query [..., M, D], key [..., N, D], value [..., N, E] -> [..., M, E]; mask (absent: node -1) broadcasts to
// [..., M, N].
// scale 0 means 1/sqrt(D); D must then be constant.
absl::StatusOr<Value> Attention(Graph& graph, Value query, Value key, Value value, Value mask, double scale);

}  // namespace tailor

#endif  // TAILOR_GRAPH_BUILDERS_H_
