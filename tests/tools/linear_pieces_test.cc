#include "tools/tune/linear_pieces.h"

#include "gtest/gtest.h"

namespace tailor::tune {
namespace {

std::vector<DepthTime> PointsOf(const LinearPieces& pieces, const std::vector<double>& depths) {
  std::vector<DepthTime> points;
  for (const double depth : depths) points.push_back({depth, pieces.At(depth)});
  return points;
}

TEST(LinearPieces, AreWhatTheirFormulaSays) {
  const LinearPieces pieces{.fixed = 10, .near_step = 2, .far_step = 3, .knee = 100};
  EXPECT_EQ(pieces.At(0), 10);
  EXPECT_EQ(pieces.At(50), 110);
  EXPECT_EQ(pieces.At(150), 360);
}

TEST(LinearPieces, FitFindsTheCoefficients) {
  const LinearPieces known{.fixed = 11.5, .near_step = 4.1, .far_step = 4.6, .knee = 256};
  const LinearPieces fitted = FitLinearPieces(PointsOf(known, {32, 64, 128, 256, 384, 512, 1024}), 256);
  EXPECT_NEAR(fitted.fixed, 11.5, 1e-6);
  EXPECT_NEAR(fitted.near_step, 4.1, 1e-8);
  EXPECT_NEAR(fitted.far_step, 4.6, 1e-8);
}

TEST(LinearPieces, FitBearsNoise) {
  const LinearPieces known{.fixed = 20, .near_step = 2, .far_step = 3, .knee = 256};
  std::vector<DepthTime> points = PointsOf(known, {32, 64, 96, 128, 192, 256, 384, 512, 768, 1024});
  for (size_t i = 0; i < points.size(); ++i) points[i].time *= i % 2 == 0 ? 1.02 : 0.98;
  const LinearPieces fitted = FitLinearPieces(points, 256);
  EXPECT_NEAR(fitted.near_step, 2, 0.1);
  EXPECT_NEAR(fitted.far_step, 3, 0.15);
  EXPECT_LT(WorstError(fitted, points), 0.03);
  EXPECT_GT(WorstError(fitted, points), 0.01);
}

TEST(LinearPieces, FitHasNoNegativeCoefficient) {
  const LinearPieces fitted = FitLinearPieces({{64, 100}, {128, 260}, {256, 590}, {512, 1200}}, 256);
  EXPECT_EQ(fitted.fixed, 0);
  EXPECT_GT(fitted.near_step, 1.5);
  EXPECT_GT(fitted.far_step, 1.5);
}

TEST(LinearPieces, FitLeavesOutWhatNoPointShows) {
  const LinearPieces known{.fixed = 10, .near_step = 2, .far_step = 5, .knee = 256};
  const LinearPieces fitted = FitLinearPieces(PointsOf(known, {32, 64, 128, 200}), 256);
  EXPECT_NEAR(fitted.fixed, 10, 1e-6);
  EXPECT_NEAR(fitted.near_step, 2, 1e-8);
  EXPECT_EQ(fitted.far_step, 0);
  const LinearPieces one = FitLinearPieces({{64, 128}}, 256);
  EXPECT_NEAR(one.At(64), 128, 1e-6);
}

}  // namespace
}  // namespace tailor::tune
