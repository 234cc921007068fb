#include "exec/memory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "exec/counters.h"
#include "exec/output_pool.h"

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

// A pool of the C library's memory, and its counters.
struct OutputPoolTest : testing::Test {
  const Allocator allocator;
  MemoryCounters counters;
  std::shared_ptr<OutputPool> pool = std::make_shared<OutputPool>(allocator, &counters);
};

TEST_F(OutputPoolTest, GivesABlockAgain) {
  const MemoryBlock first = pool->Allocate(1000);
  ASSERT_NE(first.data, nullptr);
  EXPECT_EQ(first.size, 1000u);
  const MemoryBlock second = pool->Allocate(1000);
  EXPECT_NE(second.data, first.data);
  pool->Free(first);
  EXPECT_EQ(pool->kept_bytes(), 1000u);
  EXPECT_EQ(counters.bytes, 1000u);
  const MemoryBlock again = pool->Allocate(600);
  EXPECT_EQ(again.data, first.data);
  EXPECT_EQ(again.size, 1000u);
  EXPECT_EQ(pool->kept_bytes(), 0u);
  EXPECT_EQ(counters.bytes, 0u);
  EXPECT_EQ(counters.growths, 2u);
  pool->Free(again);
  const MemoryBlock small = pool->Allocate(400);  // less than half of what is kept
  EXPECT_EQ(small.size, 400u);
  pool->Free(small);
  pool->Free(second);
}

TEST_F(OutputPoolTest, AnOutgrownBlockMakesRoomForMoreThanIsNeeded) {
  pool->Free(pool->Allocate(8000));
  MemoryBlock block = pool->Allocate(8010);
  EXPECT_EQ(block.size, 8010u + 8010 / 8);
  EXPECT_EQ(pool->kept_bytes(), 0u);
  const uint64_t growths = counters.growths;
  for (uint64_t bytes = 8020; bytes < 9000; bytes += 10) {
    pool->Free(block);
    block = pool->Allocate(bytes);
  }
  EXPECT_EQ(counters.growths, growths);
  pool->Free(block);
  const MemoryBlock other = pool->Allocate(100000);  // of another size: it outgrew none
  EXPECT_EQ(other.size, 100000u);
  EXPECT_GT(pool->kept_bytes(), 0u);
  pool->Free(other);
}

TEST_F(OutputPoolTest, KeepsNoMoreThanWasInUse) {
  for (uint64_t bytes = 1; bytes <= 1 << 20; bytes *= 4) pool->Free(pool->Allocate(bytes));
  EXPECT_EQ(pool->kept_bytes(), uint64_t{1} << 20);  // the last one alone
  pool->Trim();
  EXPECT_EQ(pool->kept_bytes(), 0u);
  pool->Free(pool->Allocate(64));
  EXPECT_EQ(pool->kept_bytes(), 64u);
}

TEST_F(OutputPoolTest, KeepsNothingOnceItIsClosed) {
  const MemoryBlock block = pool->Allocate(4096);
  pool->Free(pool->Allocate(64));
  pool->Close();
  EXPECT_EQ(pool->kept_bytes(), 0u);
  pool->Free(block);
  EXPECT_EQ(pool->kept_bytes(), 0u);
  EXPECT_EQ(counters.bytes, 0u);
}

TEST_F(OutputPoolTest, MayRunOutOfMemory) {
  pool->Free(pool->Allocate(4096));
  EXPECT_EQ(pool->Allocate(UINT64_MAX / 4).data, nullptr);
  EXPECT_EQ(pool->kept_bytes(), 0u);
  GrowingBuffer buffer(pool, &counters);
  EXPECT_FALSE(buffer.Grow(UINT64_MAX / 4));
  EXPECT_TRUE(buffer.Grow(100));
}

TEST_F(OutputPoolTest, KeepsACertainNumberOfBlocks) {
  std::vector<MemoryBlock> blocks;
  for (size_t i = 0; i < OutputPool::kMostBlocks + 50; ++i) blocks.push_back(pool->Allocate(64));
  for (const MemoryBlock& block : blocks) pool->Free(block);
  EXPECT_EQ(pool->kept_bytes(), 64 * OutputPool::kMostBlocks);
}

TEST_F(OutputPoolTest, ABufferThatGrowsLeavesNothingBehind) {
  GrowingBuffer buffer(pool, &counters);
  for (uint64_t bytes : {100, 1000, 1010, 100000}) {
    ASSERT_TRUE(buffer.Grow(bytes));
    EXPECT_EQ(buffer.size(), bytes == 1010 ? 1010u + 1010 / 8 : bytes);
    EXPECT_EQ(pool->kept_bytes(), 0u);
    EXPECT_EQ(counters.bytes, buffer.size());
  }
}

// The lock stays locked in a child if another thread holds it at the fork: here, while the allocator frees a block.
TEST(OutputPool, WorksInAForkedChild) {
  struct Gate {
    std::atomic<bool> inside = false, open = false;
  } gate;
  const Allocator allocator = {[](void*, size_t bytes, size_t alignment) {
                                 return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
                               },
                               [](void* user, void* data, size_t) {
                                 auto* gate = static_cast<Gate*>(user);
                                 gate->inside = true;
                                 while (!gate->open) std::this_thread::yield();
                                 std::free(data);
                               },
                               &gate};
  MemoryCounters counters;
  OutputPool pool(allocator, &counters);
  const MemoryBlock block = pool.Allocate(64);
  pool.Free(pool.Allocate(64));
  std::thread thread([&] { pool.Trim(); });
  while (!gate.inside) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    gate.open = true;
    pool.Free(block);
    const MemoryBlock another = pool.Allocate(100);
    pool.Discard(another);
    pool.Close();
    _exit(another.data != nullptr && pool.kept_bytes() == 0 ? 0 : 1);
  }
  gate.open = true;
  thread.join();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  pool.Free(block);
}

TEST_F(OutputPoolTest, ServesThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 2000; ++i) {
        GrowingBuffer buffer(pool, &counters);
        ASSERT_TRUE(buffer.Grow(64 + 32 * ((i + t) % 7)));
        std::memset(buffer.data(), t, buffer.size());
        for (uint64_t k = 0; k < buffer.size(); ++k) ASSERT_EQ(buffer.data()[k], t);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counters.bytes, pool->kept_bytes());
}

TEST(Memory, EmptyTensorsHaveAnAlignedAddress) {
  ASSERT_NE(EmptyTensorData(), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(EmptyTensorData()) % 64, 0u);
}

}  // namespace
}  // namespace tailor
