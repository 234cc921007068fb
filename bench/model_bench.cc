// Row kernels in cache, and the encoder at several shapes.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench/compiled.h"

namespace tailor {
namespace {

// 64 rows of 512: 128 KiB in and out each, which stay in L2.
constexpr int64_t kRows = 64, kColumns = 512;

void MeasureRows(benchmark::State& state, const GraphPtr& graph) {
  const ExecutablePtr executable = Compile(graph.get(), "host");
  std::vector<float> in = SomeNumbers(kRows * kColumns, 3), out(kRows * kColumns);
  const SessionPtr session =
      Bound(executable.get(), 1, {TensorOf(in, {kRows, kColumns})}, {TensorOf(out, {kRows, kColumns})});
  for (auto _ : state) Check(tailor_session_run_bound(session.get()));
  state.counters["s_per_element"] =
      benchmark::Counter(kRows * kColumns, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void MeasureSoftmax(benchmark::State& state) {
  const GraphPtr graph = NewGraph("softmax");
  tailor_graph* g = graph.get();
  tailor_value y;
  Check(tailor_graph_softmax(g, Input(g, "x", {Symbol(g, "M", 1 << 20), Symbol(g, "N", 1 << 20)}), -1, &y));
  Output(g, y);
  MeasureRows(state, graph);
}
BENCHMARK(MeasureSoftmax)->Name("softmax/64x512");

void MeasureLayerNorm(benchmark::State& state) {
  const GraphPtr graph = NewGraph("layer_norm");
  tailor_graph* g = graph.get();
  const tailor_value x = Input(g, "x", {Symbol(g, "M", 1 << 20), Fixed(g, kColumns)});
  tailor_value y;
  Check(
      tailor_graph_layer_norm(g, x, Constant(g, "scale", {kColumns}, 1), Constant(g, "bias", {kColumns}, 1), 1e-5, &y));
  Output(g, y);
  MeasureRows(state, graph);
}
BENCHMARK(MeasureLayerNorm)->Name("layer_norm/64x512");

void MeasureGelu(benchmark::State& state) {
  const GraphPtr graph = NewGraph("gelu");
  tailor_graph* g = graph.get();
  tailor_value y;
  Check(tailor_graph_gelu(g, Input(g, "x", {Symbol(g, "M", 1 << 20), Symbol(g, "N", 1 << 20)}), &y));
  Output(g, y);
  MeasureRows(state, graph);
}
BENCHMARK(MeasureGelu)->Name("gelu/64x512");

void MeasureExp(benchmark::State& state) {
  const GraphPtr graph = NewGraph("exp");
  tailor_graph* g = graph.get();
  tailor_value y;
  Check(tailor_graph_exp(g, Input(g, "x", {Symbol(g, "M", 1 << 20), Symbol(g, "N", 1 << 20)}), &y));
  Output(g, y);
  MeasureRows(state, graph);
}
BENCHMARK(MeasureExp)->Name("exp/64x512");

// One executable for all shapes.
const tailor_executable* Encoder() {
  static const ExecutablePtr executable = Compile(BuildEncoder(SeededEncoder({}, 1)).get(), "host");
  return executable.get();
}

void MeasureEncoder(benchmark::State& state) {
  const int64_t batch = state.range(0), length = state.range(1);
  std::vector<int64_t> ids(batch * length), mask(batch * length, 1);
  for (int64_t i = 0; i < batch * length; ++i) ids[i] = (1000 + i * 7919) % EncoderSize().vocabulary;
  std::vector<float> out(batch * EncoderSize().hidden);
  const SessionPtr session = Bound(Encoder(), 1,
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
}  // namespace tailor
