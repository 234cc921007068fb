#include "tools/tune/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace tailor::tune {
namespace {

using Matrix = std::vector<std::vector<double>>;

double Distance(const std::vector<double>& a, const std::vector<double>& b) {
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(squares);
}

double Matern(double distance, double length) {
  const double r = std::sqrt(5.0) * distance / length;
  return (1 + r + r * r / 3) * std::exp(-r);
}

// In place: the lower triangle becomes its Cholesky factor. The matrix is positive definite.
void Factor(Matrix& a) {
  for (size_t j = 0; j < a.size(); ++j) {
    for (size_t i = j; i < a.size(); ++i) {
      double rest = a[i][j];
      for (size_t k = 0; k < j; ++k) rest -= a[i][k] * a[j][k];
      a[i][j] = i == j ? std::sqrt(std::max(rest, std::numeric_limits<double>::epsilon())) : rest / a[j][j];
    }
  }
}

std::vector<double> SolveLower(const Matrix& factor, std::vector<double> right) {
  for (size_t i = 0; i < right.size(); ++i) {
    for (size_t k = 0; k < i; ++k) right[i] -= factor[i][k] * right[k];
    right[i] /= factor[i][i];
  }
  return right;
}

std::vector<double> SolveUpper(const Matrix& factor, std::vector<double> right) {  // by the factor's transpose
  for (size_t i = right.size(); i-- > 0;) {
    for (size_t k = i + 1; k < right.size(); ++k) right[i] -= factor[k][i] * right[k];
    right[i] /= factor[i][i];
  }
  return right;
}

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

GaussianProcess::GaussianProcess(std::vector<std::vector<double>> inputs, const std::vector<double>& values)
    : inputs_(std::move(inputs)), standard_(values) {
  const double count = static_cast<double>(values.size());
  mean_ = std::accumulate(values.begin(), values.end(), 0.0) / count;
  for (double& value : standard_) value -= mean_;
  scale_ = std::sqrt(Dot(standard_, standard_) / count);
  if (scale_ == 0) scale_ = 1;
  for (double& value : standard_) value /= scale_;

  double likeliest = -std::numeric_limits<double>::infinity(), noise_of_likeliest = 0;
  for (const double length : {0.15, 0.3, 0.6, 1.2, 2.4}) {
    for (const double noise : {1e-4, 1e-2, 1e-1}) {
      const double likelihood = Fit(length, noise);
      if (likelihood <= likeliest) continue;
      likeliest = likelihood, length_ = length, noise_of_likeliest = noise;
    }
  }
  Fit(length_, noise_of_likeliest);
}

double GaussianProcess::Fit(double length, double noise) {
  const size_t count = inputs_.size();
  factor_.assign(count, std::vector<double>(count));
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j <= i; ++j) factor_[i][j] = Matern(Distance(inputs_[i], inputs_[j]), length);
    factor_[i][i] += noise;
  }
  Factor(factor_);
  weights_ = SolveUpper(factor_, SolveLower(factor_, standard_));
  double log_determinant = 0;
  for (size_t i = 0; i < count; ++i) log_determinant += 2 * std::log(factor_[i][i]);
  return -(Dot(standard_, weights_) + log_determinant) / 2;
}

Prediction GaussianProcess::At(const std::vector<double>& input) const {
  std::vector<double> covariances;
  for (const std::vector<double>& known : inputs_) covariances.push_back(Matern(Distance(known, input), length_));
  const double mean = Dot(covariances, weights_);
  const std::vector<double> explained = SolveLower(factor_, covariances);
  constexpr double kLeast = 1e-9;
  const double variance = std::max(kLeast, 1 - Dot(explained, explained));
  return {mean_ + scale_ * mean, scale_ * std::sqrt(variance)};
}

double ExpectedImprovement(const Prediction& prediction, double best) {
  const double z = (best - prediction.mean) / prediction.deviation;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * M_PI);
  const double below = std::erfc(-z / std::sqrt(2.0)) / 2;
  return prediction.deviation * (z * below + density);
}

}  // namespace tailor::tune
