#include "bindings/frontend/recurrence.h"

#include "bindings/frontend/builder.h"

namespace tailor::frontend {

std::vector<Tensor> AppendRecurrence(const Recurrence& recurrence) {
  const Recurrence& r = recurrence;
  std::vector<Tensor> operands = {r.x, r.w, r.r};
  const auto optional = [&](const Tensor& tensor) -> tailor_value {
    if (!tensor) return 0;
    operands.push_back(tensor);
    return tensor.value();
  };
  tailor_recurrence_options options;
  tailor_recurrence_options_init(&options);
  options.bias = optional(r.bias);
  options.recurrent_bias = optional(r.recurrent_bias);
  options.initial_h = optional(r.initial_h);
  options.initial_c = optional(r.initial_c);
  options.lengths = optional(r.lengths);
  options.peepholes = optional(r.peepholes);
  options.reverse = r.reverse ? 1 : 0;
  options.linear_before_reset = r.linear_before_reset ? 1 : 0;
  options.input_forget = r.input_forget ? 1 : 0;
  options.clip = r.clip;
  options.activations = r.activations.data();
  options.alphas = r.alphas.data();
  options.betas = r.betas.data();
  options.activation_count = r.activations.size();
  tailor_graph* graph = r.x.builder().graph();
  const tailor_value x = r.x.value(), w = r.w.value(), weights = r.r.value();
  const size_t results = r.layer == Recurrence::Layer::kLstm ? 3 : 2;
  return r.x.builder().AppendSeveral(operands, results, [&](tailor_value* outs) {
    switch (r.layer) {
      case Recurrence::Layer::kRnn:
        return tailor_graph_rnn(graph, x, w, weights, &options, &outs[0], &outs[1]);
      case Recurrence::Layer::kGru:
        return tailor_graph_gru(graph, x, w, weights, &options, &outs[0], &outs[1]);
      default:
        return tailor_graph_lstm(graph, x, w, weights, &options, &outs[0], &outs[1], &outs[2]);
    }
  });
}

}  // namespace tailor::frontend
