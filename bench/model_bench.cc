// Row kernels in cache; the encoder at several shapes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/compiled.h"
#include "bench/floats.h"

namespace tailor::bench {
namespace {

// 64 rows of 512: 128 KiB in and out each, which stay in L2.
constexpr int64_t kRows = 64, kColumns = 512;

void MeasureRows(benchmark::State& state, const GraphHandle& graph, int64_t rows = kRows, int64_t columns = kColumns) {
  const ExecutableHandle executable = Compile(graph.get(), "host");
  const int64_t count = rows * columns;
  Floats in = TouchedFloats(count), out = TouchedFloats(count);  // aligned, as the peers' tensors are
  const std::vector<float> numbers = SomeNumbers(count, 3);
  std::copy(numbers.begin(), numbers.end(), in.get());
  const auto tensor = [&](Floats& floats) {
    return TensorOf(floats.get(), count * sizeof(float), TAILOR_F32, {rows, columns});
  };
  const SessionHandle session = Bound(executable.get(), 1, {tensor(in)}, {tensor(out)});
  for (auto _ : state) Check(tailor_session_run_bound(session.get()));
  state.counters["s_per_element"] =
      benchmark::Counter(count, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void MeasureSoftmax(benchmark::State& state, int64_t rows, int64_t columns) {
  const GraphHandle graph = NewGraph("softmax");
  tailor_graph* g = graph.get();
  tailor_value y;
  Check(tailor_graph_softmax(g, Input(g, "x", {Symbol(g, "M", 1 << 20), Symbol(g, "N", 1 << 20)}), -1, &y));
  Output(g, y);
  MeasureRows(state, graph, rows, columns);
}
BENCHMARK_CAPTURE(MeasureSoftmax, in_cache, kRows, kColumns)->Name("softmax/64x512");
// AStitch section 3.3: many short rows, and few long ones.
BENCHMARK_CAPTURE(MeasureSoftmax, short_rows, 750000, 32)->Name("softmax/750000x32")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(MeasureSoftmax, long_rows, 64, 30000)->Name("softmax/64x30000")->Unit(benchmark::kMillisecond);

void MeasureLayerNorm(benchmark::State& state) {
  const GraphHandle graph = NewGraph("layer_norm");
  tailor_graph* g = graph.get();
  const tailor_value x = Input(g, "x", {Symbol(g, "M", 1 << 20), Fixed(g, kColumns)});
  tailor_value y;
  Check(
      tailor_graph_layer_norm(g, x, Constant(g, "scale", {kColumns}, 1), Constant(g, "bias", {kColumns}, 1), 1e-5, &y));
  Output(g, y);
  MeasureRows(state, graph);
}
BENCHMARK(MeasureLayerNorm)->Name("layer_norm/64x512");

using ElementwiseOp = tailor_status* (*)(tailor_graph*, tailor_value, tailor_value*);

void MeasureElementwise(benchmark::State& state, ElementwiseOp append) {
  const GraphHandle graph = NewGraph("elementwise");
  tailor_graph* g = graph.get();
  tailor_value y;
  Check(append(g, Input(g, "x", {Symbol(g, "M", 1 << 20), Symbol(g, "N", 1 << 20)}), &y));
  Output(g, y);
  MeasureRows(state, graph);
}
BENCHMARK_CAPTURE(MeasureElementwise, gelu, tailor_graph_gelu)->Name("gelu/64x512");
BENCHMARK_CAPTURE(MeasureElementwise, gelu_tanh, tailor_graph_gelu_tanh)->Name("gelu_tanh/64x512");
BENCHMARK_CAPTURE(MeasureElementwise, exp, tailor_graph_exp)->Name("exp/64x512");

// One executable for all shapes.
const tailor_executable* Encoder() {
  static const ExecutableHandle executable = Compile(BuildEncoder(SeededEncoder({}, 1)).get(), "host");
  return executable.get();
}

void MeasureEncoder(benchmark::State& state) {
  const int64_t batch = state.range(0), length = state.range(1);
  std::vector<int64_t> ids(batch * length), mask(batch * length, 1);
  for (int64_t i = 0; i < batch * length; ++i) ids[i] = (1000 + i * 7919) % EncoderSize().vocabulary;
  std::vector<float> out(batch * EncoderSize().hidden);
  const SessionHandle session = Bound(Encoder(), 1,
                                      {TensorOf(ids.data(), ids.size() * 8, TAILOR_I64, {batch, length}),
                                       TensorOf(mask.data(), mask.size() * 8, TAILOR_I64, {batch, length})},
                                      {TensorOf(out, {batch, EncoderSize().hidden})});
  for (auto _ : state) Check(tailor_session_run_bound(session.get()));
}
BENCHMARK(MeasureEncoder)
    ->Name("encoder")
    ->ArgNames({"B", "S"})
    ->ArgsProduct({{1}, {1, 16, 33, 128}})
    ->Args({8, 32})
    ->Args({8, 128})
    ->Args({16, 256})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace tailor::bench
