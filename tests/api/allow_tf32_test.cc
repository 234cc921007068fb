// Matmuls in f32 on a GPU, with allow_tf32 and without.
#include <bit>
#include <cmath>
#include <random>

#include "tests/api/emulated_program.h"
#include "tests/emulator/multiplicands.h"

namespace tailor {
namespace {

constexpr int64_t kDepth = 40, kColumns = 24;
constexpr char kMatmul[] = R"(
graph @matmul(%x: f32[M, K], %w: f32[K, N]) {
  %y = dot %x, %w
  return "y" = %y
})";

class AllowTf32Test : public EmulatedTest {
 protected:
  AllowTf32Test() {
    options_.compile.allow_tf32 = 1;
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    for (float& number : x_) number = normal(random);
    for (float& number : w_) number = normal(random);
  }

  std::vector<float> Matmul(const EmulatedProgram::Options& options, int64_t rows) {
    EmulatedProgram program(kMatmul, options);
    EXPECT_EQ(program.status(), "OK");
    std::vector<float> results;
    const std::vector<float> x(x_.begin(), x_.begin() + rows * kDepth);
    EXPECT_EQ(program.Run({{{rows, kDepth}, x}, {{kDepth, kColumns}, w_}}, &results), "OK");
    EXPECT_EQ(results.size(), static_cast<size_t>(rows * kColumns));
    return results;
  }

  static float AsTf32(float number) { return std::bit_cast<float>(simt::Tf32::Round(number)); }
  static float AsF32(float number) { return number; }

  // The largest distance of `results` from the product of `factor(x)` and `factor(w)`, as a share of the sum of
  // |x * w|.
  double Error(const std::vector<float>& results, float (*factor)(float)) const {
    double worst = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      double sum = 0, scale = 0;
      for (int64_t k = 0; k < kDepth; ++k) {
        const float x = x_[i / kColumns * kDepth + k], w = w_[k * kColumns + i % kColumns];
        sum += double{factor(x)} * factor(w);
        scale += std::abs(double{x} * w);
      }
      worst = std::max(worst, std::abs(results[i] - sum) / scale);
    }
    return worst;
  }

  EmulatedProgram::Options options_;
  std::vector<float> x_ = std::vector<float>(100 * kDepth), w_ = std::vector<float>(kDepth * kColumns);
};

TEST_F(AllowTf32Test, FactorsAreRoundedAndSumsAreNot) {
  const std::vector<float> results = Matmul(options_, 100);
  EXPECT_LT(Error(results, AsTf32), 0x1p-21);
  EXPECT_LT(Error(results, AsF32), 0x1p-10);
  EXPECT_GT(Error(results, AsF32), 0x1p-16);  // as no product of the factors themselves is
}

TEST_F(AllowTf32Test, WithoutItMatmulsAreThoseOfF32) { EXPECT_LT(Error(Matmul({}, 100), AsF32), 0x1p-21); }

// Reading the right operand takes their time, not multiplying.
TEST_F(AllowTf32Test, FewRowsAreNotRounded) { EXPECT_LT(Error(Matmul(options_, 16), AsF32), 0x1p-21); }

// Halfway between two numbers of tf32 the one that is farther from zero is taken.
TEST_F(AllowTf32Test, RoundsToTheNearest) {
  x_.assign(x_.size(), 0);
  w_.assign(w_.size(), 0);
  const float given[] = {1 + 0x1p-11f, -1 - 0x1p-11f, 1 + 0x1.fp-12f, 3.0e38f, 0x1.fffp-3f};
  const float expected[] = {1 + 0x1p-10f, -1 - 0x1p-10f, 1, AsTf32(3.0e38f), 0x1p-2f};
  for (int i = 0; i < 5; ++i) x_[i * kDepth] = given[i];
  w_[0] = 1;
  const std::vector<float> results = Matmul(options_, 100);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(results[i * kColumns], expected[i]) << i;
}

TEST_F(AllowTf32Test, InfinitiesAndNaNsStayWhatTheyAre) {
  x_.assign(x_.size(), 1);
  w_.assign(w_.size(), 1);
  x_[0] = INFINITY;
  x_[kDepth] = std::bit_cast<float>(0x7fffffffu);
  x_[2 * kDepth] = -INFINITY;
  const std::vector<float> results = Matmul(options_, 100);
  EXPECT_EQ(results[0], INFINITY);
  EXPECT_TRUE(std::isnan(results[kColumns]));
  EXPECT_EQ(results[2 * kColumns], -INFINITY);
  EXPECT_EQ(results[3 * kColumns], kDepth);
}

}  // namespace
}  // namespace tailor
