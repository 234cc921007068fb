// matmul-patterns: what dividing a matmul's result into two regions with tiles of their own would gain (patterns V to
// IX of MikPoly, figure 5) over one tiling (patterns I to IV: separable). Reads shapes "M K N" from stdin, one per
// line.
//
// Predictions are of one thread with operands in cache. Where two regions are predicted to be faster by more than 1 %,
// both are timed: CPU times of one thread, pinned to one CPU.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/tiled_matmul.h"
#include "codegen/contract/panels.h"
#include "tools/measure/measuring_thread.h"
#include "tools/tune/interleaved_times.h"

namespace tailor::bench {
namespace {

using gemm::MatmulShape;

struct Region {
  MatmulShape shape;
  MatmulTiling tiling;
  double time = INFINITY;  // predicted, ns
};

// One region, or two: the first rows and the others, or the first columns and the others.
using Division = std::vector<Region>;

double TimeOf(const Division& division) {
  double time = 0;
  for (const Region& region : division) time += region.time;
  return time;
}

std::string Text(const Division& division) {
  if (division.size() == 1) return TileText(division[0].tiling);
  const bool by_rows = division[0].shape.n == division[1].shape.n;
  const MatmulShape& first = division[0].shape;
  return std::to_string(by_rows ? first.m : first.n) + (by_rows ? " rows " : " columns ") +
         TileText(division[0].tiling) + ", others " + TileText(division[1].tiling);
}

class Divisions {
 public:
  explicit Divisions(const TiledMatmul& matmul) : matmul_(matmul), costs_(tune::HostCosts()) {
    costs_.cached_bytes = INFINITY;
  }

  Region With(const MatmulTiling& tiling, const MatmulShape& shape) const {
    return {shape, tiling, gemm::PredictTiling(tiling, matmul_.tile(), shape, costs_)};
  }

  Region Best(const MatmulShape& shape) {
    Region& best = best_[{shape.m, shape.n, shape.k}];
    if (best.time < INFINITY) return best;
    best = With(matmul_.Rule(shape.m), shape);
    for (const MatmulTiling& tiling : matmul_.family()) {
      const Region region = With(tiling, shape);
      if (region.time < best.time) best = region;
    }
    return best;
  }

  Division BestOfAtMostTwo(const MatmulShape& shape) {
    constexpr int kFewerTiles = 3;  // the first region is at most so many tiles short of all that fit
    Division best = {Best(shape)};
    const auto consider = [&](const MatmulShape& first, const MatmulShape& rest, const MatmulTiling& tiling) {
      Division division = {With(tiling, first), Best(rest)};
      if (TimeOf(division) < TimeOf(best)) best = std::move(division);
    };
    for (const MatmulTiling& tiling : matmul_.family()) {
      const int64_t rows = tiling.rows, columns = int64_t{tiling.panels} * kPanelColumns;
      for (int fewer = 0; fewer < kFewerTiles; ++fewer) {
        MatmulShape first = shape, rest = shape;
        first.m = (shape.m / rows - fewer) * rows, rest.m = shape.m - first.m;
        if (first.m > 0 && rest.m > 0) consider(first, rest, tiling);
        first = rest = shape;
        first.n = (shape.n / columns - fewer) * columns, rest.n = shape.n - first.n;
        if (first.n > 0 && rest.n > 0) consider(first, rest, tiling);
      }
    }
    return best;
  }

 private:
  const TiledMatmul& matmul_;
  CostProfile costs_;
  std::map<std::array<int64_t, 3>, Region> best_;
};

// The parts of one matmul's operands that the regions read. Regions of columns store results of their own width, since
// a call has no stride for them.
class RegionCalls {
 public:
  explicit RegionCalls(const MatmulShape& shape) : shape_(shape), operands_(shape.m, shape.n, shape.k) {}

  tune::Call Of(const TiledMatmul& matmul, const Division& division) {
    std::vector<tune::BoundMatmul> calls;
    const tailor_product whole = operands_.Offered();
    int64_t row = 0, column = 0;
    for (const Region& region : division) {
      const MatmulShape& part = region.shape;
      const float *lhs = static_cast<const float*>(whole.lhs) + row * part.k,
                  *rhs = static_cast<const float*>(whole.rhs) + column * part.k;
      auto* out = static_cast<float*>(whole.out) + row * part.n;
      if (part.n < shape_.n) out = narrow_.emplace_back(part.m * part.n).data();
      calls.push_back(matmul.code().Bind(part.m, part.n, part.k, lhs, rhs, out, &region.tiling));
      part.n < shape_.n ? column += part.n : row += part.m;
    }
    return [calls] {
      for (const tune::BoundMatmul& call : calls) call();
    };
  }

 private:
  MatmulShape shape_;
  tune::PlainOperands operands_;
  std::list<std::vector<float>> narrow_;
};

// Measured times of both, in seconds. The regions of a division run one after the other.
std::pair<double, double> Measure(const TiledMatmul& matmul, const MatmulShape& shape, const Division& one,
                                  const Division& two) {
  constexpr int kRounds = 60;
  constexpr double kSeconds = 3e-4;
  RegionCalls regions(shape);
  const std::vector<double> times =
      tune::LeastTimes({regions.Of(matmul, one), regions.Of(matmul, two)}, kRounds, kSeconds);
  return {times[0], times[1]};
}

void PrintTable() {
  constexpr double kLeastGain = 0.01;
  const TiledMatmul matmul(tune::MatmulForm{});
  Divisions divisions(matmul);
  int shapes = 0, differ = 0, timed = 0;
  double gain_of_one = 0, gain_of_two = 0, measured_gain = 0;  // sums of logarithms
  double worst = INFINITY, best = 0;
  std::printf("| M x K x N | one tiling | two regions | predicted gain | measured gain |\n|---|---|---|---|---|\n");
  for (MatmulShape shape; std::cin >> shape.m >> shape.k >> shape.n;) {
    ++shapes;
    const Region rule = divisions.With(matmul.Rule(shape.m), shape);
    const Division one = {divisions.Best(shape)}, two = divisions.BestOfAtMostTwo(shape);
    gain_of_one += std::log(rule.time / TimeOf(one));
    differ += !(one[0].tiling == rule.tiling);
    gain_of_two += std::log(TimeOf(one) / TimeOf(two));
    if (TimeOf(two) > TimeOf(one) * (1 - kLeastGain)) continue;
    ++timed;
    const auto [time_of_one, time_of_two] = Measure(matmul, shape, one, two);
    const double gain = time_of_one / time_of_two;
    measured_gain += std::log(gain);
    worst = std::min(worst, gain), best = std::max(best, gain);
    std::printf("| %lldx%lldx%lld | %s | %s | %.3f | %.3f |\n", static_cast<long long>(shape.m),
                static_cast<long long>(shape.k), static_cast<long long>(shape.n), Text(one).c_str(), Text(two).c_str(),
                TimeOf(one) / TimeOf(two), gain);
  }
  if (shapes == 0) return;
  std::printf(
      "\n%d shapes. Predicted: the best tiling over the rule's %.3f (differs for %d); two regions over it %.3f,\n",
      shapes, std::exp(gain_of_one / shapes), differ, std::exp(gain_of_two / shapes));
  std::printf("by more than %.0f %% for %d.", 100 * kLeastGain, timed);
  if (timed > 0) std::printf(" Measured for these: %.3f (%.3f to %.3f).", std::exp(measured_gain / timed), worst, best);
  std::printf("\n");
}

}  // namespace
}  // namespace tailor::bench

int main() {
  tailor::PinToCurrentCpu();
  tailor::bench::PrintTable();
  return 0;
}
