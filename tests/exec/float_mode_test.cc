#include "exec/float_mode.h"

#include <gtest/gtest.h>

namespace tailor {
namespace {

constexpr unsigned kRoundUp = 0x4000;

TEST(FloatMode, IsSetAndRestored) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x1f80 | arch::kFlushDenormals | kRoundUp);
  {
    const FloatMode mode(FloatControlOf(/*flush_denormals=*/false));
    EXPECT_EQ(_mm_getcsr(), 0x1f80u);
  }
  EXPECT_EQ(_mm_getcsr(), 0x1f80u | arch::kFlushDenormals | kRoundUp);
  _mm_setcsr(before);
}

TEST(FloatMode, FlushesDenormals) {
  volatile float denormal = 1e-40f, least = 1.2e-38f;
  {
    const FloatMode mode(FloatControlOf(/*flush_denormals=*/true));
    EXPECT_EQ(denormal * 1e10f, 0.0f);
    EXPECT_EQ(least * 0.5f, 0.0f);
    {
      const FloatMode inner(FloatControlOf(/*flush_denormals=*/false));
      EXPECT_GT(least * 0.5f, 0.0f);
    }
    EXPECT_EQ(least * 0.5f, 0.0f);
  }
  EXPECT_GT(denormal * 1e10f, 0.0f);
}

TEST(FloatMode, LeavesPastExceptionFlagsAlone) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x1f80 | 0x21);
  {
    const FloatMode mode(FloatControlOf(/*flush_denormals=*/false));
    EXPECT_EQ(_mm_getcsr(), 0x1f80u | 0x21);
  }
  _mm_setcsr(before);
}

}  // namespace
}  // namespace tailor
