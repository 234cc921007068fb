// Named activation functions, for builders of layers that take them as options (graph/recurrence.h).
#ifndef TAILOR_GRAPH_ACTIVATIONS_H_
#define TAILOR_GRAPH_ACTIVATIONS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "graph/formula.h"

namespace tailor {

// One of these names, with a = alpha and b = beta; their defaults are in parentheses:
//   sigmoid, tanh, relu, softsign x / (1 + |x|), softplus log(1 + e^x),
//   affine a x + b (1, 0), scaled_tanh a tanh(b x) (1, 1), hard_sigmoid max(0, min(1, a x + b)) (0.2, 0.5),
//   leaky_relu: x, or a x for x < 0 (0.01), thresholded_relu: x, or 0 for x <= a (1),
//   elu: x, or a (e^x - 1) for x < 0 (1).
struct Activation {
  std::string name;
  std::optional<double> alpha, beta;
};

// INVALID_ARGUMENT naming `builder` if no activation has this name.
absl::Status CheckActivation(absl::string_view builder, const Activation& activation);
// Appends activation(x). Requires CheckActivation.
Value Activate(Formula& f, const Activation& activation, Value x);

}  // namespace tailor

#endif  // TAILOR_GRAPH_ACTIVATIONS_H_
