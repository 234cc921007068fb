// Memory-bound kernels: rows of f32, beside a copy.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "tests/gpu/measure/gpu_graph.h"
#include "tests/gpu/measure/measurement.h"

namespace tailor::bench {
namespace {

constexpr double kEpsilon = 1e-5;
constexpr size_t kBeyondCache = size_t{256} << 20;  // bytes that no GPU's cache holds
constexpr size_t kEmulatedCopy = 1 << 16;
constexpr int kCallsOfGraph = 20;  // as PyTorch's (processes/torch_gpu.py)

// A graph of the kind on x f32[R, C], both symbols; layer norm needs its columns known.
GraphHandle RowGraph(const MeasuredCase& asked) {
  GraphHandle graph = NewGraph(asked.kind.c_str());
  tailor_graph* g = graph.get();
  const bool norm = asked.kind == "layer_norm";
  const int64_t columns = asked.dim_sizes[1];
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

// What row `x` becomes, one element where it is reduced.
std::vector<double> RowInDouble(const MeasuredCase& asked, std::span<const float> x) {
  std::vector<double> y(x.begin(), x.end());
  const double sum = std::accumulate(y.begin(), y.end(), 0.0), mean = sum / static_cast<double>(y.size());
  if (asked.kind == "reduce_sum") return {sum};
  if (asked.kind == "softmax") {
    const double greatest = *std::max_element(y.begin(), y.end());
    double all = 0;
    for (double& value : y) all += value = std::exp(value - greatest);
    for (double& value : y) value /= all;
    return y;
  }
  double squares = 0;
  for (double& value : y) value -= mean, squares += value * value;
  const double deviation = std::sqrt(squares / static_cast<double>(y.size()) + kEpsilon);
  const std::vector<float> scale = SomeNumbers(static_cast<int64_t>(y.size()), 1);  // and bias: what Constant gives
  for (size_t i = 0; i < y.size(); ++i) y[i] = y[i] / deviation * scale[i] + scale[i];
  return y;
}

// Of rows of the beginning, the middle and the end.
void RequireRows(const MeasuredCase& asked, const std::vector<float>& x, const GpuMemory& out) {
  constexpr double kTolerance = 1e-4;
  std::vector<float> results(out.bytes() / sizeof(float));
  out.Read(results.data());
  const size_t rows = asked.dim_sizes[0], columns = asked.dim_sizes[1], each = results.size() / rows;
  for (size_t row : {size_t{0}, rows / 2, rows - 1}) {
    const std::vector<double> expected = RowInDouble(asked, {&x[row * columns], columns});
    for (size_t i = 0; i < each; ++i) {
      const double apart = std::fabs(results[row * each + i] - expected[i]);
      if (apart <= kTolerance * std::max(1.0, std::fabs(expected[i]))) continue;
      throw WrongResult("row " + std::to_string(row) + " has " + std::to_string(results[row * each + i]) + " for " +
                        std::to_string(expected[i]) + " at " + std::to_string(i));
    }
  }
}

// Bytes a second that a copy reads and writes.
double CopyRate(size_t bytes, double seconds) { return 2 * static_cast<double>(bytes) / seconds; }

}  // namespace

Measured MeasureCopy(const Gpu& gpu, const MeasuredCase& asked) {
  const auto bytes = static_cast<size_t>(asked.dim_sizes[0]);
  const GpuMemory from(gpu, std::string(bytes, 0).data(), bytes), to(gpu, bytes);
  const double seconds = TakeTurns(
      gpu, {[&] {
        gpu.Check(gpu.driver().MemcpyDtoDAsync(to.address(), from.address(), bytes, gpu.stream()), "cuMemcpyDtoDAsync");
      }})[0];
  return {{{"seconds", seconds}, {"bytes_per_second", CopyRate(bytes, seconds)}}, ""};
}

// Inputs and outputs, together more than the cache, take turns; with the form "hot" there is one of each, and calls are
// asked for many at a time. A "like copy" is one of as many bytes, whose places take turns too.
Measured MeasureRows(const Gpu& gpu, const MeasuredCase& asked) {
  const int64_t rows = asked.dim_sizes[0], columns = asked.dim_sizes[1];
  const bool reduces = asked.kind == "reduce_sum";
  const ExecutableHandle executable = CompileFor(gpu, RowGraph(asked).get());
  const std::vector<float> numbers = SomeNumbers(rows * columns, 3);
  const size_t in_bytes = numbers.size() * sizeof(float), out_bytes = reduces ? rows * sizeof(float) : in_bytes;
  const size_t beyond = gpu.emulated() ? 0 : kBeyondCache;
  const size_t copies = asked.form == "hot" ? 1 : 1 + beyond / (in_bytes + out_bytes);

  std::vector<GpuMemory> in, out;
  std::vector<SessionHandle> bound;
  for (size_t i = 0; i < copies; ++i) {
    in.emplace_back(gpu, numbers.data(), in_bytes);
    out.emplace_back(gpu, out_bytes);
    bound.push_back(BoundOn(gpu, executable.get(), {OnGpu(in.back(), TAILOR_F32, {rows, columns})},
                            {OnGpu(out.back(), TAILOR_F32, reduces ? std::vector{rows} : std::vector{rows, columns})}));
  }
  RequireRows(asked, numbers, out[0]);
  const size_t copied = gpu.emulated() ? kEmulatedCopy : kBeyondCache;
  const GpuMemory from(gpu, copied), to(gpu, copied);
  const auto copy = [&](cuda::Address target, cuda::Address source, size_t bytes) {
    gpu.Check(gpu.driver().MemcpyDtoDAsync(target, source, bytes, gpu.stream()), "cuMemcpyDtoDAsync");
  };
  const size_t like = std::min((in_bytes + out_bytes) / 2, copied), places = copied / like;
  size_t turn = 0, like_turn = 0;
  const std::function<void()> run = [&] { Run(bound[turn++ % copies].get()); };
  const Gpu::Repeated repeated = asked.form == "hot" ? gpu.Repeat(kCallsOfGraph, run) : Gpu::Repeated{run, 1};
  std::vector<double> seconds = TakeTurns(gpu, {repeated.run, [&] { copy(to.address(), from.address(), copied); },
                                                [&] {
                                                  const size_t at = like_turn++ % places * like;
                                                  copy(to.address() + at, from.address() + at, like);
                                                }});
  seconds[0] /= repeated.times;
  const double rate = static_cast<double>(in_bytes + out_bytes) / seconds[0];
  return {{{"seconds", seconds[0]},
           {"like_copy_seconds", seconds[2]},
           {"bytes_per_second", rate},
           {"share_of_copy", rate / CopyRate(copied, seconds[1])},
           {"copies", static_cast<double>(copies)}},
          ""};
}

}  // namespace tailor::bench
