// Recurrent layers.
#ifndef TAILOR_BINDINGS_FRONTEND_RECURRENCE_H_
#define TAILOR_BINDINGS_FRONTEND_RECURRENCE_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "bindings/frontend/tensor.h"

namespace tailor::frontend {

// As tailor_recurrence_options; tensors may be absent.
struct Recurrence {
  enum class Layer : uint8_t { kRnn, kGru, kLstm };

  Layer layer = Layer::kRnn;
  Tensor x, w, r;
  Tensor bias, recurrent_bias, initial_h, initial_c, lengths, peepholes;
  bool reverse = false, linear_before_reset = false, input_forget = false;
  double clip = std::numeric_limits<double>::infinity();
  std::vector<const char*> activations;  // empty: the layer's defaults
  std::vector<double> alphas, betas;     // one for each activation; NaN: its default
};

// y and h; of an lstm c too.
std::vector<Tensor> AppendRecurrence(const Recurrence& recurrence);

}  // namespace tailor::frontend

#endif  // TAILOR_BINDINGS_FRONTEND_RECURRENCE_H_
