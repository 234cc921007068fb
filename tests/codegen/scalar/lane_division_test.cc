#include "codegen/scalar/lane_division.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/codegen/math/lane_jit.h"

namespace tailor {
namespace {

constexpr int64_t kLimit = int64_t{1} << 50;

// The words of `x` as doubles, which the loop of LaneJit reads.
std::vector<double> AsDoubles(const std::vector<int64_t>& x) {
  std::vector<double> bits;
  for (const int64_t value : x) bits.push_back(std::bit_cast<double>(value));
  return bits;
}

std::vector<int64_t> Divided(const std::vector<int64_t>& x, int64_t divisor, bool rest, const std::string& cpu) {
  constexpr int kLanes = 8;
  const math::MathFunction divide = [&](const math::LaneMath& m, llvm::Value* bits) {
    llvm::IRBuilderBase& b = m.builder();
    auto* words = llvm::FixedVectorType::get(b.getInt64Ty(), kLanes);
    const DividedLanes divided = DivideLanes(b, b.CreateBitCast(bits, words), b.getInt64(divisor));
    return b.CreateBitCast(rest ? divided.rest : divided.quotient, bits->getType());
  };
  math::LaneJit jit(divide, DType::kF64, kLanes, cpu);
  return jit.Run<int64_t>(AsDoubles(x));
}

// Around multiples of the divisor, where the matmul with the reciprocal may round to either side.
std::vector<int64_t> Dividends(int64_t divisor, std::mt19937_64* random) {
  std::vector<int64_t> x = {0, 1, 2, 3, 4, 5, kLimit - 2, kLimit - 1};
  for (int i = 0; i < 4000; ++i) {
    const int64_t quotient = static_cast<int64_t>((*random)() >> ((*random)() % 64)) % (kLimit / divisor + 1);
    for (int64_t offset = -1; offset <= 1; ++offset) {
      x.push_back(std::clamp<int64_t>(quotient * divisor + offset, 0, kLimit - 1));
    }
    x.push_back(static_cast<int64_t>((*random)() % kLimit));
  }
  return x;
}

TEST(LaneDivision, EqualsIntegerDivision) {
  std::mt19937_64 random(1);
  const std::string cpu = math::HostCpu();
  if (cpu.empty()) GTEST_SKIP() << "this CPU runs none of the levels";
  std::vector<int64_t> divisors = {1, 2, 3, 7, 10, 127, 641, 65537, 6700417, (int64_t{1} << 31) - 1, kLimit - 1};
  for (int i = 0; i < 20; ++i) divisors.push_back(1 + static_cast<int64_t>(random() % kLimit >> (random() % 48)));
  for (const int64_t divisor : divisors) {
    const std::vector<int64_t> x = Dividends(divisor, &random);
    const std::vector<int64_t> quotients = Divided(x, divisor, false, cpu), rests = Divided(x, divisor, true, cpu);
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(quotients[i], x[i] / divisor) << x[i] << " / " << divisor;
      ASSERT_EQ(rests[i], x[i] % divisor) << x[i] << " % " << divisor;
    }
  }
}

}  // namespace
}  // namespace tailor
