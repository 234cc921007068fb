// Regression by a Gaussian process: mean and deviation of a function between observed values.
// Immutable; any number of threads.
#ifndef TAILOR_TOOLS_TUNE_GAUSSIAN_PROCESS_H_
#define TAILOR_TOOLS_TUNE_GAUSSIAN_PROCESS_H_

#include <vector>

namespace tailor::tune {

struct Prediction {
  double mean;
  double deviation;  // standard deviation, > 0
};

class GaussianProcess {
 public:
  // Fits the values observed at `inputs`: at least one, all of equal length. The kernel is Matern 5/2 in the Euclidean
  // distance. Its length scale and the observation noise are the pair of a small grid with the highest likelihood.
  GaussianProcess(std::vector<std::vector<double>> inputs, const std::vector<double>& values);

  Prediction At(const std::vector<double>& input) const;
  double length() const { return length_; }

 private:
  // Sets factor_ and weights_ for a length scale and a noise; returns the log likelihood up to a constant.
  double Fit(double length, double noise);

  std::vector<std::vector<double>> inputs_;
  std::vector<double> standard_;  // values, shifted and scaled to mean 0 and variance 1
  double mean_ = 0, scale_ = 1;   // value = mean_ + scale_ * standard
  double length_ = 1;
  std::vector<std::vector<double>> factor_;  // lower Cholesky factor of the covariances
  std::vector<double> weights_;              // covariances^-1 * standard_
};

// The expectation of max(best - value, 0) for a Gaussian value.
double ExpectedImprovement(const Prediction& prediction, double best);

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_GAUSSIAN_PROCESS_H_
