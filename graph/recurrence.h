// Builders of recurrent layers over a sequence: one matmul for the inputs of all steps, then a `while` over the steps.
//
// Shapes: x [T, B, I]; weights w [G * H, I] of the inputs and r [G * H, H] of the state, one block of H rows per gate
//         -> y [T, B, H], the state after each step, and the last state h [B, H] (lstm: and c [B, H]).
// Types:  one float type throughout; lengths i32 or i64.
// Each step updates the state of the step before; the first step starts from the initial state. With lengths, step t of
// batch entry b is valid if t < lengths[b]; an invalid step keeps the state and writes 0 to y. A reverse layer runs
// from step T - 1 down to step 0.
#ifndef TAILOR_GRAPH_RECURRENCE_H_
#define TAILOR_GRAPH_RECURRENCE_H_

#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/activations.h"
#include "graph/graph.h"

namespace tailor {

// Values may be absent: node -1.
struct RecurrenceOptions {
  Value bias, recurrent_bias;  // [G * H], added to x w^T and to h r^T; absent: zeros
  Value initial_h, initial_c;  // [B, H]; absent: zeros. initial_c: lstm only
  Value lengths;               // [B]; absent: all steps are valid
  Value peepholes;             // lstm: [3 * H], weights of c in gates i, o and f; absent: zeros
  bool reverse = false;
  bool linear_before_reset = false;                       // gru: the reset gate multiplies h r^T, not h
  bool input_forget = false;                              // lstm: the forget gate is 1 - i
  double clip = std::numeric_limits<double>::infinity();  // gate activations' inputs are clamped to [-clip, clip]
  std::vector<Activation> activations;                    // empty: the defaults below
};

struct RecurrenceResults {
  Value y, h;
  Value c;  // lstm only
};

// h' = f(x w^T + h r^T); f is tanh.
absl::StatusOr<RecurrenceResults> Rnn(Graph& graph, Value x, Value w, Value r, const RecurrenceOptions& options);

// Gates z, r, n in this order: h' = (1 - z) n + z h with z, r = f(x w^T + h r^T) and n = g(x w_n^T + (r h) r_n^T), or
// g(x w_n^T + r (h r_n^T)) with linear_before_reset. f, g default to sigmoid, tanh.
absl::StatusOr<RecurrenceResults> Gru(Graph& graph, Value x, Value w, Value r, const RecurrenceOptions& options);

// Gates i, o, f, n in this order: c' = f c + i n, h' = o k(c') with i, o, f = f(x w^T + h r^T + p c), where gate o uses
// c' for c, and n = g(x w_n^T + h r_n^T). f, g, k default to sigmoid, tanh, tanh.
absl::StatusOr<RecurrenceResults> Lstm(Graph& graph, Value x, Value w, Value r, const RecurrenceOptions& options);

}  // namespace tailor

#endif  // TAILOR_GRAPH_RECURRENCE_H_
