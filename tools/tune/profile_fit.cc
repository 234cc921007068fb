#include "tools/tune/profile_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>

#include "codegen/contract/panels.h"

namespace tailor::tune {
namespace {

float Hundredths(double value) { return static_cast<float>(std::round(100 * value) / 100); }

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

double PredictedTime(const TileFit& fit, const MatmulSize& size) {
  const int64_t tiles = CeilDiv(size.m, fit.rows) * CeilDiv(size.n, fit.panels * kPanelColumns);
  return static_cast<double>(tiles) * fit.pieces.At(static_cast<double>(size.k));
}

// Powers of two, and three times those, from `first` to `last`.
std::vector<int64_t> Ladder(int64_t first, int64_t last) {
  std::vector<int64_t> values;
  for (int64_t value = first; value <= last; value *= 2) {
    values.push_back(value);
    if (3 * value / 2 <= last && value % 2 == 0) values.push_back(3 * value / 2);
  }
  return values;
}

// Indices of fits, the highest rank first.
std::vector<size_t> Order(const std::vector<double>& ranks) {
  std::vector<size_t> order(ranks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&ranks](size_t a, size_t b) { return ranks[a] > ranks[b]; });
  return order;
}

}  // namespace

std::vector<TileFit> FitTiles(const std::vector<TileTimes>& times) {
  std::vector<TileFit> fits;
  for (const TileTimes& tile : times) {
    const LinearPieces pieces = FitLinearPieces(tile.fitted, CostProfile::kNearDepth);
    fits.push_back(
        {tile.rows, tile.panels, pieces, WorstError(pieces, tile.fitted), WorstError(pieces, tile.held_out)});
  }
  return fits;
}

void FitStream(const StreamTimes& times, CostProfile* profile) {
  const auto depth = static_cast<double>(times.depth);
  const double line = times.row / (times.row_panels * depth), tile = times.tile.pieces.At(depth);
  const double hidden = (tile + times.tile.panels * depth * line - times.two_tiles) / tile;
  profile->line_ns = Hundredths(line);
  profile->fetch_overlap = Hundredths(std::clamp(hidden, 0.0, 1.0));
}

std::vector<MatmulSize> RankingSizes() {
  std::vector<MatmulSize> sizes;
  for (const int64_t m : Ladder(1, 1024)) {
    for (const int64_t n : Ladder(16, 1024)) {
      for (const int64_t k : Ladder(64, 1024)) sizes.push_back({m, n, k});
    }
  }
  return sizes;
}

std::vector<double> RankTiles(const std::vector<TileFit>& fits, const std::vector<MatmulSize>& sizes) {
  std::vector<double> ranks(fits.size());
  for (const MatmulSize& size : sizes) {
    double fastest = std::numeric_limits<double>::infinity();
    for (const TileFit& fit : fits) fastest = std::min(fastest, PredictedTime(fit, size));
    for (size_t i = 0; i < fits.size(); ++i) {
      ranks[i] += fastest / PredictedTime(fits[i], size) / static_cast<double>(sizes.size());
    }
  }
  return ranks;
}

CostProfile ProfileOf(const CostProfile& base, const std::vector<TileFit>& fits, const std::vector<double>& ranks,
                      int keep) {
  CostProfile profile = base;
  for (auto& row : profile.tiles) std::fill(std::begin(row), std::end(row), TileCost());
  const std::vector<size_t> order = Order(ranks);
  const size_t kept = keep == 0 ? order.size() : std::min(order.size(), static_cast<size_t>(keep));
  for (size_t i = 0; i < kept; ++i) {
    const TileFit& fit = fits[order[i]];
    profile.Of(fit.rows, fit.panels) = {.fixed = static_cast<float>(fit.pieces.fixed),
                                        .near_step = static_cast<float>(fit.pieces.near_step),
                                        .far_step = static_cast<float>(fit.pieces.far_step)};
  }
  return profile;
}

std::string FitTable(const std::vector<TileFit>& fits, const std::vector<double>& ranks) {
  std::string table =
      "| micro-kernel | fixed, ns | ns per k | ns per k beyond the knee | fit error | held-out error | rank |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const size_t i : Order(ranks)) {
    const TileFit& fit = fits[i];
    char row[160];
    std::snprintf(row, sizeof row, "| %dx%d | %.1f | %.3f | %.3f | %.1f %% | %.1f %% | %.3f |\n", fit.rows, fit.panels,
                  fit.pieces.fixed, fit.pieces.near_step, fit.pieces.far_step, 100 * fit.fit_error,
                  100 * fit.held_out_error, ranks[i]);
    table += row;
  }
  return table;
}

}  // namespace tailor::tune
