#include "tools/tune/linear_pieces.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace tailor::tune {
namespace {

constexpr int kTerms = 3;
using Terms = std::array<double, kTerms>;

Terms TermsAt(double depth, double knee) { return {1, std::min(depth, knee), std::max(depth - knee, 0.0)}; }

// Solves a x = b by elimination with pivots, over the terms in `chosen` (others are 0). Empty if singular.
std::optional<Terms> Solve(std::array<Terms, kTerms> a, Terms b, const std::vector<int>& chosen) {
  const size_t count = chosen.size();
  std::vector<std::vector<double>> rows;
  for (const int r : chosen) {
    rows.emplace_back();
    for (const int c : chosen) rows.back().push_back(a[r][c]);
    rows.back().push_back(b[r]);
  }
  for (size_t column = 0; column < count; ++column) {
    const auto larger = [column](const auto& x, const auto& y) { return std::abs(x[column]) < std::abs(y[column]); };
    std::iter_swap(rows.begin() + column, std::max_element(rows.begin() + column, rows.end(), larger));
    constexpr double kSingular = 1e-9;
    if (std::abs(rows[column][column]) < kSingular) return std::nullopt;
    for (size_t row = 0; row < count; ++row) {
      const double factor = row == column ? 0 : rows[row][column] / rows[column][column];
      for (size_t c = column; c <= count; ++c) rows[row][c] -= factor * rows[column][c];
    }
  }
  Terms solution = {};
  for (size_t i = 0; i < count; ++i) solution[chosen[i]] = rows[i][count] / rows[i][i];
  return solution;
}

}  // namespace

double LinearPieces::At(double depth) const {
  const Terms terms = TermsAt(depth, knee);
  return fixed * terms[0] + near_step * terms[1] + far_step * terms[2];
}

LinearPieces FitLinearPieces(const std::vector<DepthTime>& points, double knee) {
  // Normal equations of terms / time = 1, each term scaled to its largest, so that none looks singular for its unit.
  Terms scale = {};
  for (const DepthTime& point : points) {
    const Terms terms = TermsAt(point.depth, knee);
    for (int t = 0; t < kTerms; ++t) scale[t] = std::max(scale[t], terms[t] / point.time);
  }
  std::array<Terms, kTerms> squares = {};
  Terms right = {};
  for (const DepthTime& point : points) {
    Terms terms = TermsAt(point.depth, knee);
    for (int t = 0; t < kTerms; ++t) terms[t] = scale[t] == 0 ? 0 : terms[t] / point.time / scale[t];
    for (int r = 0; r < kTerms; ++r) {
      right[r] += terms[r];
      for (int c = 0; c < kTerms; ++c) squares[r][c] += terms[r] * terms[c];
    }
  }
  LinearPieces best{.knee = knee};
  double least = std::numeric_limits<double>::infinity();
  for (int subset = 1; subset < 1 << kTerms; ++subset) {
    std::vector<int> chosen;
    for (int t = 0; t < kTerms; ++t) {
      if ((subset >> t & 1) != 0) chosen.push_back(t);
    }
    const std::optional<Terms> solution = Solve(squares, right, chosen);
    if (!solution.has_value() || *std::min_element(solution->begin(), solution->end()) < 0) continue;
    Terms unscaled = {};
    for (int t = 0; t < kTerms; ++t) unscaled[t] = scale[t] == 0 ? 0 : (*solution)[t] / scale[t];
    const LinearPieces pieces{unscaled[0], unscaled[1], unscaled[2], knee};
    double errors = 0;
    for (const DepthTime& point : points) errors += std::pow(pieces.At(point.depth) / point.time - 1, 2);
    constexpr double kRounding = 1e-12;
    if (errors < least - kRounding) least = errors, best = pieces;
  }
  return best;
}

double WorstError(const LinearPieces& pieces, const std::vector<DepthTime>& points) {
  double worst = 0;
  for (const DepthTime& point : points) worst = std::max(worst, std::abs(pieces.At(point.depth) / point.time - 1));
  return worst;
}

}  // namespace tailor::tune
