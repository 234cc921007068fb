#include "tests/hosts/cpp_units.hpp"

tailor::Value TwiceIn(const tailor::Graph& graph, const tailor::Value& x) {
  return graph.if_(
      x.reduce_sum({0}).ge(0), {x},
      [](const tailor::Graph&, const std::vector<tailor::Value>& v) { return std::vector{v[0] * 2}; },
      [](const tailor::Graph&, const std::vector<tailor::Value>& v) { return std::vector{2 * v[0]}; })[0];
}

tailor::Result<tailor::Outputs> RunIn(tailor::Session& session, tailor::Span<const tailor::ConstTensorView> inputs) {
  return session.run(inputs);
}
