#include "exec/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "exec/counters.h"

namespace tailor {
namespace {

// An allocator that remembers, and fails above a limit.
struct Ledger {
  std::map<void*, size_t> live;
  size_t limit = SIZE_MAX;
  size_t alignment = 0;

  Allocator allocator() {
    return {[](void* user, size_t bytes, size_t alignment) -> void* {
              auto* ledger = static_cast<Ledger*>(user);
              ledger->alignment = alignment;
              if (bytes > ledger->limit) return nullptr;
              void* data = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
              ledger->live[data] = bytes;
              return data;
            },
            [](void* user, void* data, size_t bytes) {
              auto* ledger = static_cast<Ledger*>(user);
              EXPECT_EQ(ledger->live[data], bytes);
              ledger->live.erase(data);
              std::free(data);
            },
            this};
  }
};

TEST(GrowingBuffer, GrowsExactlyAndOnlyWhenItMust) {
  Ledger ledger;
  const Allocator allocator = ledger.allocator();
  {
    GrowingBuffer buffer(allocator);
    EXPECT_TRUE(buffer.Grow(0));
    EXPECT_EQ(buffer.data(), nullptr);
    const uint64_t growths = ReadCounters().workspace_growths;
    EXPECT_TRUE(buffer.Grow(100));
    EXPECT_EQ(buffer.size(), 100u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
    EXPECT_EQ(ledger.alignment, 64u);
    EXPECT_TRUE(buffer.Grow(99));
    EXPECT_EQ(buffer.size(), 100u);
    EXPECT_TRUE(buffer.Grow(101));
    EXPECT_EQ(buffer.size(), 101u);
    EXPECT_EQ(ledger.live.size(), 1u);
    EXPECT_EQ(ReadCounters().workspace_growths, growths + 2);
  }
  EXPECT_TRUE(ledger.live.empty());
}

TEST(GrowingBuffer, AFailureLeavesItEmptyAndUsable) {
  Ledger ledger;
  const Allocator allocator = ledger.allocator();
  GrowingBuffer buffer(allocator);
  ASSERT_TRUE(buffer.Grow(100));
  ledger.limit = 500;
  EXPECT_FALSE(buffer.Grow(1000));
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_EQ(buffer.size(), 0u);
  EXPECT_TRUE(buffer.Grow(200));
}

TEST(GrowingBuffer, ComesFromTheCLibraryWithoutAnAllocator) {
  const Allocator allocator;
  GrowingBuffer buffer(allocator);
  constexpr size_t kLarge = (9 << 20) + 5;
  ASSERT_TRUE(buffer.Grow(kLarge));
  std::memset(buffer.data(), 1, kLarge);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % (2 << 20), 0u);
  EXPECT_FALSE(buffer.Grow(UINT64_MAX / 4));
}

TEST(Memory, EmptyTensorsHaveAnAlignedAddress) {
  ASSERT_NE(EmptyTensorData(), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(EmptyTensorData()) % 64, 0u);
}

}  // namespace
}  // namespace tailor
