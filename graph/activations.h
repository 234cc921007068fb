// Activation functions by name, for layers that take them as options.
#ifndef TAILOR_GRAPH_ACTIVATIONS_H_
#define TAILOR_GRAPH_ACTIVATIONS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "graph/formula.h"

namespace tailor {

// One of (with a = alpha, b = beta and their defaults where there are such)
//   sigmoid, tanh, relu, softsign x / (1 + |x|), softplus log(1 + e^x),
//   affine a x + b (1, 0), scaled_tanh a tanh(b x) (1, 1), hard_sigmoid max(0, min(1, a x + b)) (0.2, 0.5),
//   leaky_relu x or where x < 0 a x (0.01), thresholded_relu x or where x <= a 0 (1),
//   elu x or where x < 0 a (e^x - 1) (1).
struct Activation {
  std::string name;
  std::optional<double> alpha, beta;
};

// INVALID_ARGUMENT, naming `builder`, where there is no such function.
absl::Status CheckActivation(absl::string_view builder, const Activation& activation);
// Appends the function, which there is, of x.
Value Activate(Formula& f, const Activation& activation, Value x);

}  // namespace tailor

#endif  // TAILOR_GRAPH_ACTIVATIONS_H_
