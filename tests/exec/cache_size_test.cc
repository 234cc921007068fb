#include "exec/cache_size.h"

#include <gtest/gtest.h>

namespace tailor {
namespace {

TEST(CacheSize, HalfOfItWithinReasonOrAGuess) {
  EXPECT_EQ(StreamedBytesOf(24 << 20), 12u << 20);
  EXPECT_EQ(StreamedBytesOf(96 << 20), 32u << 20);
  EXPECT_EQ(StreamedBytesOf(0), 16u << 20);
  EXPECT_EQ(StreamedBytesOf(-1), 16u << 20);
  EXPECT_GT(StreamedBytes(), 1u << 20);
}

}  // namespace
}  // namespace tailor
