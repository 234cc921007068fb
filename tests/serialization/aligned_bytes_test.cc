#include "serialization/aligned_bytes.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace tailor {
namespace {

uintptr_t AddressOf(const AlignedBytes& bytes) { return reinterpret_cast<uintptr_t>(bytes.data()); }

TEST(AlignedBytes, LargeOnesBeginWithAHugePage) {
  EXPECT_EQ(AddressOf(AlignedBytes(size_t{4} << 20)) % (2 << 20), 0);
  EXPECT_EQ(AddressOf(AlignedBytes(size_t{37} << 20)) % (2 << 20), 0);
}

TEST(AlignedBytes, SmallOnesAreAlignedAsConstantsAre) {
  for (const size_t size : {1, 63, 4096, 1 << 20}) EXPECT_EQ(AddressOf(AlignedBytes(size)) % 64, 0);
}

}  // namespace
}  // namespace tailor
