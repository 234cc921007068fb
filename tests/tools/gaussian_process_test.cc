#include "tools/tune/gaussian_process.h"

#include <cmath>

#include "gtest/gtest.h"

namespace tailor::tune {
namespace {

TEST(GaussianProcess, PassesThroughWhatWasObserved) {
  const GaussianProcess process({{0.0}, {0.5}, {1.0}}, {3.0, -1.0, 5.0});
  for (const auto& [x, y] : {std::pair(0.0, 3.0), {0.5, -1.0}, {1.0, 5.0}}) {
    EXPECT_NEAR(process.At({x}).mean, y, 0.05);
    EXPECT_LT(process.At({x}).deviation, 0.3);
  }
}

TEST(GaussianProcess, KnowsLessAwayFromObservations) {
  const GaussianProcess process({{0.0}, {0.1}, {0.2}}, {1.0, 2.0, 1.0});
  const double near = process.At({0.15}).deviation, far = process.At({0.4}).deviation,
               beyond = process.At({50.0}).deviation;
  EXPECT_LT(near, far);
  EXPECT_LT(far, beyond);
  EXPECT_NEAR(process.At({50.0}).mean, 4.0 / 3, 1e-6);  // back at the mean
}

TEST(GaussianProcess, PredictsASmoothFunction) {
  std::vector<std::vector<double>> inputs;
  std::vector<double> values;
  const auto f = [](double x, double y) { return std::sin(3 * x) + (y - 0.3) * (y - 0.3); };
  for (int i = 0; i <= 4; ++i) {
    for (int j = 0; j <= 4; ++j) {
      inputs.push_back({i / 4.0, j / 4.0});
      values.push_back(f(i / 4.0, j / 4.0));
    }
  }
  const GaussianProcess process(inputs, values);
  EXPECT_NEAR(process.At({0.4, 0.65}).mean, f(0.4, 0.65), 0.02);
  EXPECT_GE(process.length(), 0.6);  // the likeliest length is a long one
}

TEST(GaussianProcess, BearsEqualValuesAndRepeatedInputs) {
  const GaussianProcess process({{0.5}, {0.5}, {0.5}}, {2.0, 2.0, 2.0});
  EXPECT_NEAR(process.At({0.5}).mean, 2, 1e-9);
  EXPECT_GT(process.At({0.9}).deviation, 0);
}

TEST(ExpectedImprovement, IsThatOfTheGaussian) {
  EXPECT_NEAR(ExpectedImprovement({.mean = 1, .deviation = 1e-6}, 3), 2, 1e-6);         // certain
  EXPECT_NEAR(ExpectedImprovement({.mean = 3, .deviation = 1e-6}, 1), 0, 1e-12);        // hopeless
  EXPECT_NEAR(ExpectedImprovement({.mean = 1, .deviation = 2}, 1), 2 * 0.39894, 1e-4);  // sigma / sqrt(2 pi)
}

}  // namespace
}  // namespace tailor::tune
