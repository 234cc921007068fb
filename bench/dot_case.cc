#include "bench/dot_case.h"

#include "bench/fma_peak.h"

namespace tailor::bench {

ExecutableHandle CompileDot(int64_t k, int64_t n) {
  const GraphHandle graph = NewGraph("dot");
  const tailor_value x = Input(graph.get(), "x", {Symbol(graph.get(), "M", 1 << 20), Fixed(graph.get(), k)});
  tailor_value y;
  Check(tailor_graph_dot(graph.get(), x, Constant(graph.get(), "w", {k, n}, 1), nullptr, &y));
  Output(graph.get(), y);
  return Compile(graph.get(), "host");
}

double PeakFlopsNow() {
  constexpr int64_t kSteps = 200000;
  return static_cast<double>(FmaPeakFlops(kSteps)) / SecondsOf(1, [] { benchmark::DoNotOptimize(RunFmaPeak(kSteps)); });
}

}  // namespace tailor::bench
