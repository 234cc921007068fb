#include "exec/cache_size.h"

#include <gtest/gtest.h>

namespace tailor {
namespace {

TEST(CacheSize, ReadsWhatTheSystemWrites) {
  EXPECT_EQ(CacheBytesOf("32768K\n"), 32 << 20);
  EXPECT_EQ(CacheBytesOf("1M"), 1 << 20);
  EXPECT_EQ(CacheBytesOf("4096\n"), 4096);
  for (const char* none : {"", "\n", "K", "-1K", "12G", "999999999999999999999K"})
    EXPECT_EQ(CacheBytesOf(none), 0) << none;
}

TEST(CacheSize, HalfOfItWithinReasonOrAGuess) {
  EXPECT_EQ(StreamedBytesOf(24 << 20), 12u << 20);
  EXPECT_EQ(StreamedBytesOf(96 << 20), 32u << 20);
  EXPECT_EQ(StreamedBytesOf(0), 16u << 20);
  EXPECT_EQ(StreamedBytesOf(-1), 16u << 20);
  EXPECT_GT(StreamedBytes(), 1u << 20);
}

}  // namespace
}  // namespace tailor
