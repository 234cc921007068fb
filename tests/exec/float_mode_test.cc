#include "exec/float_mode.h"

#include <gtest/gtest.h>

namespace tailor {
namespace {

constexpr unsigned kFlushDenormals = 0x8040;
constexpr unsigned kRoundUp = 0x4000;

TEST(FloatMode, SetsTheDefaultAndRestoresWhatWas) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x1f80 | kFlushDenormals | kRoundUp);
  {
    const DefaultFloatMode mode;
    EXPECT_EQ(_mm_getcsr(), 0x1f80u);
  }
  EXPECT_EQ(_mm_getcsr(), 0x1f80u | kFlushDenormals | kRoundUp);
  _mm_setcsr(before);
}

TEST(FloatMode, LeavesPastExceptionFlagsAlone) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x1f80 | 0x21);
  {
    const DefaultFloatMode mode;
    EXPECT_EQ(_mm_getcsr(), 0x1f80u | 0x21);
  }
  _mm_setcsr(before);
}

}  // namespace
}  // namespace tailor
