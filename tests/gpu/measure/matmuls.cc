// Matmuls in bf16 with a constant rhs, beside cuBLASLt.
#include <bit>
#include <cmath>

#include "tests/gpu/measure/cublas_lt.h"
#include "tests/gpu/measure/gpu_graph.h"
#include "tests/gpu/measure/measurement.h"

namespace tailor::bench {
namespace {

constexpr double kTolerance = 0.02;  // of the largest result: two bits of bf16

using Bf16s = std::vector<uint16_t>;

// Numbers in [-1, 1), rounded towards zero.
Bf16s SomeBf16(int64_t count, uint64_t seed) {
  const std::vector<float> numbers = SomeNumbers(count, seed);
  Bf16s out(numbers.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(numbers[i]) >> 16);
  return out;
}

GpuMatmulShape ShapeOf(const MeasuredCase& asked) {
  if (asked.form.size() != 2) throw NotMeasured("a matmul ends with /nn, /nt, /tn or /tt");
  return {asked.dim_sizes[0], asked.dim_sizes[1], asked.dim_sizes[2], asked.form[0] == 't', asked.form[1] == 't'};
}

// M is a symbol, w a constant.
GraphHandle MatmulGraph(const GpuMatmulShape& shape, const Bf16s& weights) {
  GraphHandle graph = NewGraph("product");
  tailor_graph* g = graph.get();
  const tailor_dim rows = Symbol(g, "M", 1 << 20), depth = Fixed(g, shape.k);
  const tailor_dim dims[] = {shape.x_transposed ? depth : rows, shape.x_transposed ? rows : depth};
  const int64_t weight_dims[] = {shape.w_transposed ? shape.n : shape.k, shape.w_transposed ? shape.k : shape.n};
  tailor_dot_options options;
  tailor_dot_options_init(&options);
  options.transpose_lhs = shape.x_transposed;
  options.transpose_rhs = shape.w_transposed;
  tailor_value x, w, y;
  Must(tailor_graph_input(g, "x", SIZE_MAX, TAILOR_BF16, dims, 2, &x));
  Must(tailor_graph_constant(g, "w", SIZE_MAX, TAILOR_BF16, weight_dims, 2, weights.data(), weights.size() * 2, nullptr,
                             nullptr, &w));
  Must(tailor_graph_dot(g, x, w, &options, &y));
  Output(g, y);
  return graph;
}

// Throws where results differ: what computes another thing is no peer.
void RequireAgreement(const GpuMemory& own, const GpuMemory& theirs) {
  Bf16s mine(own.bytes() / 2), other(own.bytes() / 2);
  own.Read(mine.data());
  theirs.Read(other.data());
  const auto value = [](uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); };
  float largest = 0, apart = 0;
  for (size_t i = 0; i < mine.size(); ++i) {
    largest = std::fmax(largest, std::fabs(value(other[i])));
    apart = std::fmax(apart, std::fabs(value(mine[i]) - value(other[i])));
    if (std::isnan(value(mine[i])) != std::isnan(value(other[i]))) apart = INFINITY;
  }
  if (apart > kTolerance * largest) {
    throw WrongResult("results differ from cuBLASLt's by " + std::to_string(apart / largest) + " of the largest");
  }
}

}  // namespace

Measured MeasureMatmul(const Gpu& gpu, const MeasuredCase& asked) {
  const GpuMatmulShape shape = ShapeOf(asked);
  const Bf16s left = SomeBf16(shape.m * shape.k, 1), right = SomeBf16(shape.k * shape.n, 2);
  const ExecutableHandle executable = CompileFor(gpu, MatmulGraph(shape, right).get());
  const GpuMemory x(gpu, left.data(), left.size() * 2), y(gpu, shape.m * shape.n * 2);
  const std::vector<int64_t> x_dims =
      shape.x_transposed ? std::vector{shape.k, shape.m} : std::vector{shape.m, shape.k};
  const SessionHandle bound =
      BoundOn(gpu, executable.get(), {OnGpu(x, TAILOR_BF16, x_dims)}, {OnGpu(y, TAILOR_BF16, {shape.m, shape.n})});
  std::vector<std::function<void()>> candidates = {[&] { Run(bound.get()); }};
  const GpuMemory w(gpu, right.data(), right.size() * 2), peer_y(gpu, y.bytes());
  std::string why;
  CublasLtPeer* peer = gpu.emulated() ? nullptr : CublasLtPeer::Find(&why);
  if (peer != nullptr) {
    candidates.push_back(peer->Matmul(gpu, shape, x, w, peer_y));
    candidates[1]();
    gpu.Wait();
    RequireAgreement(y, peer_y);
  }
  const std::vector<double> seconds = TakeTurns(gpu, candidates);
  Measured measured{{{"seconds", seconds[0]},
                     {"flops_per_second", 2.0 * static_cast<double>(shape.m * shape.k * shape.n) / seconds[0]}},
                    ""};
  if (peer != nullptr) {
    measured.peer = peer->name();
    measured.figures["peer_seconds"] = seconds[1];
  }
  return measured;
}

}  // namespace tailor::bench
