// The error of each function of unary_math.h over a stride of all floats, both signs, NaNs and infinities among them,
// at each CPU level that this machine has:
//   TAILOR_TEST_ALL=1  all of them instead of every 64th
// A ctest entry per function, so that they run side by side.
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/codegen/math/lane_jit.h"
#include "tests/codegen/math/unary_math.h"

namespace tailor::math {
namespace {

class MathSweep : public testing::TestWithParam<UnaryCase> {};

TEST_P(MathSweep, F32StaysWithinBound) {
  const UnaryCase& c = GetParam();
  std::deque<LaneJit> levels;
  std::vector<std::string> names;
  for (const char* cpu : kCpuLevels) {
    if (!RunsOrSays(cpu)) continue;
    levels.emplace_back(UseOf(c.op, DType::kF32), 16, cpu);
    names.push_back(cpu);
  }
  const uint64_t stride = std::getenv("TAILOR_TEST_ALL") != nullptr ? 1 : 64;
  constexpr uint64_t kBlock = 1 << 12;  // inputs, results and references stay in the first cache
  std::vector<float> x(kBlock), got(kBlock);
  std::vector<double> want(kBlock);
  std::vector<double> worst(levels.size(), 0);
  std::vector<float> worst_x(levels.size(), 0);
  for (uint64_t first = 0; first < uint64_t{1} << 32; first += kBlock * stride) {
    for (uint64_t i = 0; i < kBlock; ++i) x[i] = std::bit_cast<float>(static_cast<uint32_t>(first + i * stride));
    for (uint64_t i = 0; i < kBlock; ++i) want[i] = c.f32(x[i]);
    for (size_t level = 0; level < levels.size(); ++level) {
      levels[level].Run(got.data(), x.data(), nullptr, nullptr, kBlock);
      for (uint64_t i = 0; i < kBlock; ++i) {
        const double ulp = UlpError(got[i], want[i]);
        if (ulp > worst[level]) worst[level] = ulp, worst_x[level] = x[i];
      }
    }
  }
  for (size_t level = 0; level < levels.size(); ++level) {
    std::printf("%s f32, %s: %.4f ulp at %a\n", std::string(InfoOf(c.op).text).c_str(), names[level].c_str(),
                worst[level], worst_x[level]);
    EXPECT_LE(worst[level], c.f32_bound) << names[level] << " at " << worst_x[level];
  }
}

INSTANTIATE_TEST_SUITE_P(MathFunctions, MathSweep, testing::ValuesIn(kUnary),
                         [](const auto& info) { return std::string(InfoOf(info.param.op).kind_name); });

}  // namespace
}  // namespace tailor::math
