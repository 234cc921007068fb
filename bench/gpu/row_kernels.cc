// Kernels that memory limits: rows of f32, and the copy that they are held against.
#include <algorithm>
#include <string>

#include "bench/gpu/gpu_graph.h"
#include "bench/gpu/measurement.h"

namespace tailor {
namespace {

constexpr double kEpsilon = 1e-5;
constexpr size_t kBeyondCache = size_t{256} << 20;  // bytes that no GPU's cache holds
constexpr size_t kEmulatedCopy = 1 << 16;

// A graph of the kind on x f32[R, C], both symbols; layer norm needs its columns known.
GraphPtr RowGraph(const MeasuredCase& asked) {
  GraphPtr graph = NewGraph(asked.kind.c_str());
  tailor_graph* g = graph.get();
  const bool norm = asked.kind == "layer_norm";
  const int64_t columns = asked.extents[1];
  const tailor_value x = Input(g, "x", {Symbol(g, "R", 1 << 24), norm ? Fixed(g, columns) : Symbol(g, "C", 1 << 24)});
  tailor_value y;
  if (norm) {
    Must(tailor_graph_layer_norm(g, x, Constant(g, "scale", {columns}, 1), Constant(g, "bias", {columns}, 1), kEpsilon,
                                 &y));
  } else if (asked.kind == "softmax") {
    Must(tailor_graph_softmax(g, x, -1, &y));
  } else {
    constexpr int64_t kLast = 1;
    Must(tailor_graph_reduce_sum(g, x, &kLast, 1, nullptr, &y));
  }
  Output(g, y);
  return graph;
}

// Bytes a second that a copy reads and writes.
double CopyRate(size_t bytes, double seconds) { return 2 * static_cast<double>(bytes) / seconds; }

}  // namespace

Measured MeasureCopy(const Gpu& gpu, const MeasuredCase& asked) {
  const auto bytes = static_cast<size_t>(asked.extents[0]);
  const GpuMemory from(gpu, std::string(bytes, 0).data(), bytes), to(gpu, bytes);
  const double seconds = TakeTurns(
      gpu, {[&] {
        gpu.Check(gpu.driver().MemcpyDtoDAsync(to.address(), from.address(), bytes, gpu.stream()), "cuMemcpyDtoDAsync");
      }})[0];
  return {{{"seconds", seconds}, {"bytes_per_second", CopyRate(bytes, seconds)}}, ""};
}

// Inputs and outputs, together more than the cache, take turns; with the form "hot" there is one of each.
Measured MeasureRows(const Gpu& gpu, const MeasuredCase& asked) {
  const int64_t rows = asked.extents[0], columns = asked.extents[1];
  const bool reduces = asked.kind == "reduce_sum";
  const ExecutablePtr executable = CompileFor(gpu, RowGraph(asked).get());
  const std::vector<float> numbers = SomeNumbers(rows * columns, 3);
  const size_t in_bytes = numbers.size() * sizeof(float), out_bytes = reduces ? rows * sizeof(float) : in_bytes;
  const size_t beyond = gpu.emulated() ? 0 : kBeyondCache;
  const size_t copies = asked.form == "hot" ? 1 : 1 + beyond / (in_bytes + out_bytes);

  std::vector<GpuMemory> in, out;
  std::vector<SessionPtr> bound;
  for (size_t i = 0; i < copies; ++i) {
    in.emplace_back(gpu, numbers.data(), in_bytes);
    out.emplace_back(gpu, out_bytes);
    bound.push_back(BoundOn(gpu, executable.get(), {OnGpu(in.back(), TAILOR_F32, {rows, columns})},
                            {OnGpu(out.back(), TAILOR_F32, reduces ? std::vector{rows} : std::vector{rows, columns})}));
  }
  const size_t copied = gpu.emulated() ? kEmulatedCopy : kBeyondCache;
  const GpuMemory from(gpu, copied), to(gpu, copied);
  size_t turn = 0;
  const std::vector<double> seconds =
      TakeTurns(gpu, {[&] { Run(bound[turn++ % copies].get()); },
                      [&] {
                        gpu.Check(gpu.driver().MemcpyDtoDAsync(to.address(), from.address(), copied, gpu.stream()),
                                  "cuMemcpyDtoDAsync");
                      }});
  const double rate = static_cast<double>(in_bytes + out_bytes) / seconds[0];
  return {{{"seconds", seconds[0]},
           {"bytes_per_second", rate},
           {"share_of_copy", rate / CopyRate(copied, seconds[1])},
           {"copies", static_cast<double>(copies)}},
          ""};
}

}  // namespace tailor
