// The error of each function of unary_math.h over a stride of all floats, both signs, NaNs and infinities among them:
//   TAILOR_TEST_ALL=1  all of them instead of every 64th
// A ctest entry per function, so that they run side by side.
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "gtest/gtest.h"
#include "tests/codegen/math/lane_jit.h"
#include "tests/codegen/math/unary_math.h"

namespace tailor::math {
namespace {

class MathSweep : public testing::TestWithParam<UnaryCase> {};

TEST_P(MathSweep, F32StaysWithinBound) {
  const UnaryCase& c = GetParam();
  LaneJit jit(UseOf(c.op, DType::kF32), 16);
  const uint64_t stride = std::getenv("TAILOR_TEST_ALL") != nullptr ? 1 : 64;
  constexpr uint64_t kBlock = 1 << 12;  // inputs, results and references stay in the first cache
  std::vector<float> x(kBlock), got(kBlock);
  std::vector<double> want(kBlock);
  double worst = 0;
  float worst_x = 0;
  for (uint64_t first = 0; first < uint64_t{1} << 32; first += kBlock * stride) {
    for (uint64_t i = 0; i < kBlock; ++i) x[i] = std::bit_cast<float>(static_cast<uint32_t>(first + i * stride));
    jit.Run(got.data(), x.data(), nullptr, nullptr, kBlock);
    for (uint64_t i = 0; i < kBlock; ++i) want[i] = c.f32(x[i]);
    for (uint64_t i = 0; i < kBlock; ++i) {
      const double ulp = UlpError(got[i], want[i]);
      if (ulp > worst) worst = ulp, worst_x = x[i];
    }
  }
  std::printf("%s f32: %.4f ulp at %a\n", std::string(InfoOf(c.op).text).c_str(), worst, worst_x);
  EXPECT_LE(worst, c.f32_bound) << "at " << worst_x;
}

INSTANTIATE_TEST_SUITE_P(MathFunctions, MathSweep, testing::ValuesIn(kUnary),
                         [](const auto& info) { return std::string(InfoOf(info.param.op).kind_name); });

}  // namespace
}  // namespace tailor::math
