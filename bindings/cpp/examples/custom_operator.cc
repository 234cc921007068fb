// A custom operator: keeps the positive numbers of a vector. How many they are is known only when it has run.
#include <cstdio>
#include <vector>

#include "tailor/tailor.hpp"

namespace {

// results: f32[N], of which the first `count` elements are used; then the count, an i64[].
tailor::Result<void> keep_positive(const tailor::CustomCall& call) {
  tailor::Span<const float> x = call.operand<float>(0).value();
  tailor::Span<float> kept = call.result<float>(0).value();
  std::int64_t& count = call.result<std::int64_t>(1).value()[0];
  count = 0;
  for (float element : x) {
    if (element != element) return tailor::Error(tailor::Code::kInvalidArgument, "NaN is neither positive nor not");
    if (element > 0) kept[static_cast<std::size_t>(count++)] = element;
  }
  return {};
}

}  // namespace

int main() {
  tailor::Runtime runtime = tailor::Runtime::create().value();
  runtime.register_operator("keep_positive", keep_positive).value();

  tailor::Graph graph("example");
  tailor::Dim n = graph.symbol("N");
  tailor::Value x = graph.input("x", tailor::DType::kF32, {n});
  tailor::CustomResult kept = {tailor::DType::kF32, {n}, 0};  // counted_dim 0: N is a bound
  graph.output("y", graph.custom("keep_positive", {x}, {kept})[0] * 2.0f);

  tailor::CompileOptions options;
  options.runtime = &runtime;
  tailor::Executable executable = graph.compile(options).value();
  tailor::Session session = executable.session().value();
  for (std::vector<float> numbers : {std::vector<float>{1, -2}, std::vector<float>{1, -2, 3, -4, 5}}) {
    tailor::Outputs outputs = session.run({tailor::view(numbers)}).value();
    std::printf("N = %zu:", numbers.size());
    for (float y : *outputs.get<float>("y")) std::printf(" %g", y);
    std::printf("\n");
  }
}
