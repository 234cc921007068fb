#include "serialization/layout.h"

#include <gtest/gtest.h>

namespace tailor {
namespace {

TEST(Layout, AlignsUpWithinUint64) {
  uint64_t out = 7;
  EXPECT_TRUE(AlignUp(0, 64, &out));
  EXPECT_EQ(out, 0u);
  EXPECT_TRUE(AlignUp(65, 64, &out));
  EXPECT_EQ(out, 128u);
  EXPECT_TRUE(AlignUp(UINT64_MAX - 63, 64, &out));
  EXPECT_EQ(out, UINT64_MAX - 63);
  EXPECT_FALSE(AlignUp(UINT64_MAX - 62, 64, &out));
}

}  // namespace
}  // namespace tailor
