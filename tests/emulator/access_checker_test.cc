// Kernels with a bug, which must be found, and the same kernels without it.
#include "tests/emulator/access_checker.h"

#include <vector>

#include "codegen/cuda/device_ir/device_ops.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/emulator/kernel_builder.h"

namespace tailor {
namespace {

using device::Op;
using llvm::Value;
using testing::ContainsRegex;
using testing::HasSubstr;
using Body = std::function<void(KernelBuilder&)>;

constexpr SimtGrid kOneBlock = {.blocks = 1, .threads = 64, .shared_bytes = 256};

// The diagnosis of the first of some seeds that finds a bug; empty if none does.
std::string Find(const Body& body, const SimtGrid& grid = kOneBlock, const std::vector<void*>& memory = {},
                 SimtOptions options = {}) {
  KernelBuilder kernel(static_cast<int>(memory.size()), body);
  SimtEmulator emulator(kernel.module(), std::move(options));
  for (uint32_t seed = 0; seed < 8; ++seed) {
    std::string found = emulator.Launch("k", grid, reinterpret_cast<const int64_t*>(memory.data()), seed);
    if (!found.empty()) return found;
  }
  return "";
}

Value* Word(KernelBuilder& k, Value* index) { return k.SharedAt(k.b.getInt32Ty(), index); }
Value* Neighbour(KernelBuilder& k, int distance = 1) {
  return k.b.CreateURem(k.b.CreateAdd(k.Thread(), k.b.getInt32(distance)), device::EmitBlockDim(k.b));
}
Value* ReadWord(KernelBuilder& k, Value* index) { return k.b.CreateLoad(k.b.getInt32Ty(), Word(k, index)); }
void WriteOwnWord(KernelBuilder& k) { k.b.CreateStore(k.Thread(), Word(k, k.Thread())); }

enum class Between { kNothing, kShuffle, kWarpBarrier, kBarrier };
void Emit(KernelBuilder& k, Between between) {
  if (between == Between::kShuffle) device::EmitShuffleXor(k.b, k.Thread(), 1);
  if (between == Between::kWarpBarrier) device::EmitOp(k.b, Op::kWarpBarrier, {});
  if (between == Between::kBarrier) device::EmitBarrier(k.b);
}

Body ReadsNeighbour(Between between, int threads_away = 1) {
  return [=](KernelBuilder& k) {
    WriteOwnWord(k);
    Emit(k, between);
    ReadWord(k, Neighbour(k, threads_away));
  };
}

TEST(SharedRaces, ReadOfWhatAnotherThreadWrites) {
  EXPECT_THAT(
      Find(ReadsNeighbour(Between::kNothing)),
      ContainsRegex("kernel k: block 0, thread [0-9]+: (reads|writes) 4 bytes at byte [0-9]+ of shared memory, of "
                    "which thread [0-9]+ (wrote|read) byte [0-9]+, with no barrier between"));
  EXPECT_EQ(Find(ReadsNeighbour(Between::kBarrier)), "");
}

TEST(SharedRaces, ShufflesDoNotOrderMemory) {
  EXPECT_THAT(Find(ReadsNeighbour(Between::kShuffle)), HasSubstr("with no barrier between"));
}

TEST(SharedRaces, ABarrierOfTheWarpOrdersItsLanesAlone) {
  const SimtGrid one_warp = {.blocks = 1, .threads = 32, .shared_bytes = 128};
  EXPECT_EQ(Find(ReadsNeighbour(Between::kWarpBarrier), one_warp), "");
  EXPECT_THAT(Find(ReadsNeighbour(Between::kWarpBarrier, 32)), HasSubstr("with no barrier between"));
}

Body OverwritesWhatNeighboursRead(Between between) {
  return [=](KernelBuilder& k) {
    WriteOwnWord(k);
    device::EmitBarrier(k.b);
    ReadWord(k, Neighbour(k));
    Emit(k, between);
    WriteOwnWord(k);
  };
}

TEST(SharedRaces, WriteOfWhatAnotherThreadReads) {
  EXPECT_THAT(Find(OverwritesWhatNeighboursRead(Between::kNothing)), HasSubstr("with no barrier between"));
  EXPECT_EQ(Find(OverwritesWhatNeighboursRead(Between::kBarrier)), "");
}

// Thread 0 overwrites what all threads of its warp have read, itself last.
Body OverwritesWhatAllRead(Between between) {
  return [=](KernelBuilder& k) {
    Value* first = k.b.getInt32(0);
    ReadWord(k, first);
    Emit(k, between);
    EmitIf(k.b, k.b.CreateICmpEQ(k.Thread(), first), "first", [&] {
      ReadWord(k, first);
      k.b.CreateStore(k.Thread(), Word(k, first));
    });
  };
}

TEST(SharedRaces, WriteOfWhatManyThreadsRead) {
  const SimtGrid one_warp = {.blocks = 1, .threads = 32, .shared_bytes = 128};
  EXPECT_THAT(Find(OverwritesWhatAllRead(Between::kNothing), one_warp), HasSubstr("with no barrier between"));
  EXPECT_EQ(Find(OverwritesWhatAllRead(Between::kWarpBarrier), one_warp), "");
  EXPECT_THAT(Find(OverwritesWhatAllRead(Between::kWarpBarrier)), HasSubstr("with no barrier between"));
  EXPECT_EQ(Find(OverwritesWhatAllRead(Between::kBarrier)), "");
}

TEST(SharedRaces, TwoThreadsWriteOneWord) {
  auto body = [](KernelBuilder& k) { k.b.CreateStore(k.b.getInt32(7), Word(k, k.b.CreateLShr(k.Thread(), 1))); };
  EXPECT_THAT(Find(body), HasSubstr("writes 4 bytes at byte"));
}

TEST(SharedRaces, NeighbouringBytesAreNotOne) {
  auto body = [](KernelBuilder& k) {
    k.b.CreateStore(k.b.getInt8(7), k.SharedAt(k.b.getInt8Ty(), k.Thread()));
    k.b.CreateLoad(k.b.getInt8Ty(), k.SharedAt(k.b.getInt8Ty(), k.Thread()));
  };
  EXPECT_EQ(Find(body), "");
}

TEST(SharedRaces, AtomicsDoNotRaceWithEachOther) {
  auto count = [](Between between) {
    return [=](KernelBuilder& k) {
      Value* word = Word(k, k.b.getInt32(0));
      EmitIf(k.b, k.b.CreateICmpEQ(k.Thread(), k.b.getInt32(0)), "first",
             [&] { k.b.CreateStore(k.b.getInt32(0), word); });
      device::EmitBarrier(k.b);
      k.b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, word, k.b.getInt32(1), llvm::Align(4),
                          llvm::AtomicOrdering::Monotonic);
      Emit(k, between);
      Value* total = k.b.CreateLoad(k.b.getInt32Ty(), word);
      k.b.CreateStore(total, k.At(k.b.getInt32Ty(), k.parameter(0), k.Thread()));
    };
  };
  std::vector<int32_t> out(64);
  EXPECT_EQ(Find(count(Between::kBarrier), kOneBlock, {out.data()}), "");
  EXPECT_THAT(out, testing::Each(64));
  EXPECT_THAT(Find(count(Between::kNothing), kOneBlock, {out.data()}), HasSubstr("with no barrier between"));
}

TEST(SharedRaces, UncheckedLaunchesSayNothing) {
  EXPECT_EQ(Find(ReadsNeighbour(Between::kNothing), kOneBlock, {}, {.checks_accesses = false}), "");
}

// Every thread copies its word, optionally waits for it and for the others, and reads the word `threads_away` later.
Body CopiesAndReads(bool waits, Between between, int threads_away) {
  return [=](KernelBuilder& k) {
    device::EmitOp(k.b, Op::kCpAsync4,
                   {Word(k, k.Thread()), k.At(k.b.getInt32Ty(), k.parameter(0), k.Thread()), k.b.getInt32(4)});
    device::EmitOp(k.b, Op::kCpAsyncCommit, {});
    if (waits) device::EmitOp(k.b, Op::kCpAsyncWait, {k.b.getInt32(0)});
    Emit(k, between);
    ReadWord(k, Neighbour(k, threads_away));
  };
}

TEST(AsyncCopies, AreToBeWaitedFor) {
  std::vector<int32_t> in(64);
  EXPECT_THAT(Find(CopiesAndReads(false, Between::kBarrier, 0), kOneBlock, {in.data()}),
              HasSubstr("where an asynchronous copy of thread"));
  EXPECT_EQ(Find(CopiesAndReads(true, Between::kNothing, 0), kOneBlock, {in.data()}), "");
}

TEST(AsyncCopies, AreSeenByOthersBehindABarrier) {
  std::vector<int32_t> in(64);
  EXPECT_NE(Find(CopiesAndReads(true, Between::kNothing, 1), kOneBlock, {in.data()}), "");
  EXPECT_EQ(Find(CopiesAndReads(true, Between::kBarrier, 1), kOneBlock, {in.data()}), "");
}

TEST(AsyncCopies, RaceWithReadersOfWhatWasThere) {
  std::vector<int32_t> in(64);
  auto body = [](Between between) {
    return [=](KernelBuilder& k) {
      WriteOwnWord(k);
      device::EmitBarrier(k.b);
      ReadWord(k, Neighbour(k));
      Emit(k, between);
      device::EmitOp(k.b, Op::kCpAsync4, {Word(k, k.Thread()), k.parameter(0), k.b.getInt32(4)});
    };
  };
  EXPECT_NE(Find(body(Between::kNothing), kOneBlock, {in.data()}), "");
  EXPECT_EQ(Find(body(Between::kBarrier), kOneBlock, {in.data()}), "");
}

TEST(Ldmatrix, ReadsTheRowsOfItsLanes) {
  auto body = [](Between between) {
    return [=](KernelBuilder& k) {
      WriteOwnWord(k);
      Emit(k, between);
      device::EmitOp(k.b, Op::kLdmatrixX1, {Word(k, k.b.CreateMul(k.b.CreateAnd(k.Thread(), 7), k.b.getInt32(4)))});
    };
  };
  EXPECT_THAT(Find(body(Between::kNothing)), HasSubstr("with no barrier between"));
  EXPECT_EQ(Find(body(Between::kBarrier)), "");
}

TEST(Bounds, OfSharedMemory) {
  auto body = [](int offset) {
    return [=](KernelBuilder& k) {
      ReadWord(k, k.b.getInt32(63));
      k.b.CreateLoad(k.b.getInt32Ty(), k.SharedAt(k.b.getInt8Ty(), k.b.getInt32(offset)));
    };
  };
  EXPECT_THAT(Find(body(254)), HasSubstr("reads 4 bytes at byte 254 of shared memory, which has 256"));
  EXPECT_THAT(Find(body(-4)), HasSubstr("reads 4 bytes at byte -4 of shared memory, which has 256"));
  EXPECT_EQ(Find(body(252)), "");
}

class GlobalMemory : public testing::Test {
 protected:
  std::string FindIn(const Body& body, const SimtGrid& grid = kOneBlock) {
    SimtOptions options;
    options.find_memory = [this](uint64_t address) {
      const auto begin = reinterpret_cast<uint64_t>(memory_.data());
      const SimtMemoryRange all = {begin, begin + 4 * memory_.size()};
      return address >= all.begin && address < all.end ? all : SimtMemoryRange{};
    };
    std::fill(memory_.begin(), memory_.end(), 0);
    return Find(body, grid, {memory_.data()}, options);
  }
  static Value* WordAt(KernelBuilder& k, Value* index) { return k.At(k.b.getInt32Ty(), k.parameter(0), index); }

  std::vector<int32_t> memory_ = std::vector<int32_t>(100);
};

TEST_F(GlobalMemory, HasAnEndAndABegin) {
  auto body = [](int byte) {
    return [=](KernelBuilder& k) {
      k.b.CreateLoad(k.b.getInt32Ty(), k.At(k.b.getInt8Ty(), k.parameter(0), k.b.getInt32(byte)));
    };
  };
  EXPECT_EQ(FindIn(body(396)), "");
  EXPECT_THAT(FindIn(body(398)), HasSubstr("reads 4 bytes at byte 398 of 400 bytes of global memory"));
  EXPECT_THAT(FindIn(body(400)), HasSubstr("outside the device's memory"));
  EXPECT_THAT(FindIn(body(-4)), HasSubstr("outside the device's memory"));
}

TEST_F(GlobalMemory, IsCheckedInCopiesToo) {
  auto body = [](int bytes) {
    return [=](KernelBuilder& k) {
      EmitIf(k.b, k.b.CreateICmpEQ(k.Thread(), k.b.getInt32(0)), "first", [&] {
        k.b.CreateMemCpy(WordAt(k, k.b.getInt32(50)), llvm::Align(4), k.parameter(0), llvm::Align(4), bytes);
      });
    };
  };
  EXPECT_EQ(FindIn(body(200)), "");
  EXPECT_THAT(FindIn(body(204)), HasSubstr("writes 204 bytes at byte 200 of 400 bytes of global memory"));
}

// Each access claims that `byte` is a multiple of eight.
TEST_F(GlobalMemory, IsAsAlignedAsInstructionsClaim) {
  const std::vector<std::function<void(KernelBuilder&, Value*)>> accesses = {
      [](KernelBuilder& k, Value* at) { k.b.CreateAlignedLoad(k.b.getInt64Ty(), at, llvm::Align(8)); },
      [](KernelBuilder& k, Value* at) { k.b.CreateAlignedStore(k.b.getInt32(1), at, llvm::Align(8)); },
      [](KernelBuilder& k, Value* at) {
        k.b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, at, k.b.getInt64(0), llvm::Align(8),
                            llvm::AtomicOrdering::Monotonic);
      },
      [](KernelBuilder& k, Value* at) { k.b.CreateMemSet(at, k.b.getInt8(0), 8, llvm::Align(8)); },
  };
  for (const auto& access : accesses) {
    auto body = [&](int byte) -> Body {
      return [&, byte](KernelBuilder& k) { access(k, k.At(k.b.getInt8Ty(), k.parameter(0), k.b.getInt32(byte))); };
    };
    EXPECT_EQ(FindIn(body(16)), "");
    EXPECT_THAT(FindIn(body(20)),
                ContainsRegex("kernel k: block 0, thread [0-9]+: accesses 0x[0-9a-f]+, which is not a "
                              "multiple of the 8 bytes that the instruction claims"));
  }
}

TEST(SharedMemory, IsAsAlignedAsInstructionsClaim) {
  auto body = [](int byte, int align) {
    return [=](KernelBuilder& k) {
      k.b.CreateAlignedLoad(k.b.getInt64Ty(), k.SharedAt(k.b.getInt8Ty(), k.b.getInt32(byte)), llvm::Align(align));
    };
  };
  EXPECT_EQ(Find(body(8, 8)), "");
  EXPECT_EQ(Find(body(12, 4)), "");
  EXPECT_THAT(Find(body(12, 8)), HasSubstr("which is not a multiple of the 8 bytes"));
}

TEST_F(GlobalMemory, TwoThreadsWriteTwoValues) {
  auto store = [](bool equal) {
    return [=](KernelBuilder& k) {
      Value* value = equal ? static_cast<Value*>(k.b.getInt32(5)) : k.Thread();
      k.b.CreateStore(value, WordAt(k, k.b.getInt32(3)));
    };
  };
  EXPECT_THAT(
      FindIn(store(false)),
      ContainsRegex("writes 4 bytes of global memory at 0x[0-9a-f]+, of which thread [0-9]+ of block 0 wrote byte 0"));
  EXPECT_EQ(FindIn(store(true)), "");
}

// Each block's first thread writes the block's word and reads the next block's.
Body ReadsNextBlock(bool meets) {
  return [=](KernelBuilder& k) {
    EmitIf(k.b, k.b.CreateICmpEQ(k.Thread(), k.b.getInt32(0)), "first", [&] {
      Value* block = device::EmitBlockId(k.b);
      k.b.CreateStore(block, k.At(k.b.getInt32Ty(), k.parameter(0), block));
    });
    if (meets) device::EmitGridBarrier(k.b, k.At(k.b.getInt32Ty(), k.parameter(0), k.b.getInt32(99)));
    Value* next = k.b.CreateAdd(device::EmitBlockId(k.b), k.b.getInt32(1));
    k.b.CreateLoad(k.b.getInt32Ty(), k.At(k.b.getInt32Ty(), k.parameter(0), next));
  };
}

TEST_F(GlobalMemory, BlocksAreOrderedByBarriersOfTheGrid) {
  for (bool together : {false, true}) {
    const SimtGrid grid = {.blocks = 4, .threads = 64, .cooperative = together};
    EXPECT_THAT(FindIn(ReadsNextBlock(false), grid), HasSubstr("with nothing that orders the two"));
  }
  std::vector<int32_t> memory(100);
  KernelBuilder kernel(1, ReadsNextBlock(true));
  SimtEmulator emulator(kernel.module());
  const auto slot = reinterpret_cast<int64_t>(memory.data());
  EXPECT_EQ(emulator.Launch("k", {.blocks = 4, .threads = 64, .cooperative = true}, &slot, 1), "");
}

Value* AtomicAdd(KernelBuilder& k, Value* address, int value) {
  return k.b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, address, k.b.getInt32(value), llvm::Align(4),
                             llvm::AtomicOrdering::Monotonic);
}

// Every block writes a word; the last one, by a counter, adds all words up.
Body LastBlockAdds(int blocks, bool fences) {
  return [=](KernelBuilder& k) {
    Value* out = k.parameter(0);
    EmitIf(k.b, k.b.CreateICmpEQ(k.Thread(), k.b.getInt32(0)), "first", [&] {
      k.b.CreateStore(k.b.getInt32(3), k.At(k.b.getInt32Ty(), out, device::EmitBlockId(k.b)));
      if (fences) device::EmitOp(k.b, Op::kFence, {});
      Value* before = AtomicAdd(k, k.At(k.b.getInt32Ty(), out, k.b.getInt32(50)), 1);
      Value* place = k.b.CreateURem(before, k.b.getInt32(blocks));  // the counter continues over launches
      EmitIf(k.b, k.b.CreateICmpEQ(place, k.b.getInt32(blocks - 1)), "last", [&] {
        if (fences) device::EmitOp(k.b, Op::kFence, {});
        Value* sum = k.b.getInt32(0);
        for (int i = 0; i < blocks; ++i) {
          Value* part = k.At(k.b.getInt32Ty(), out, k.b.getInt32(i));
          sum = k.b.CreateAdd(sum, k.b.CreateLoad(k.b.getInt32Ty(), part));
        }
        k.b.CreateStore(sum, k.At(k.b.getInt32Ty(), out, k.b.getInt32(51)));
      });
    });
  };
}

TEST_F(GlobalMemory, BlocksAreOrderedByFencesAndAtomics) {
  const SimtGrid grid = {.blocks = 6, .threads = 32};
  EXPECT_EQ(FindIn(LastBlockAdds(6, true), grid), "");
  EXPECT_EQ(memory_[51], 18);
  EXPECT_THAT(FindIn(LastBlockAdds(6, false), grid), HasSubstr("with nothing that orders the two"));
}

// Block i waits until block i + 1 has raised its flag, and raises its own; the last does not wait.
Body WaitsForNextBlock(bool all_wait) {
  return [=](KernelBuilder& k) {
    Value* block = device::EmitBlockId(k.b);
    Value* last = k.b.CreateSub(device::EmitGridDim(k.b), k.b.getInt32(1));
    EmitIf(k.b, k.b.CreateICmpEQ(k.Thread(), k.b.getInt32(0)), "first", [&] {
      Value* waits = all_wait ? k.b.getTrue() : k.b.CreateICmpNE(block, last);
      EmitIf(k.b, waits, "waits", [&] {
        auto* spin = llvm::BasicBlock::Create(k.b.getContext(), "spin", k.b.GetInsertBlock()->getParent());
        auto* on = llvm::BasicBlock::Create(k.b.getContext(), "on", k.b.GetInsertBlock()->getParent());
        k.b.CreateBr(spin);
        k.b.SetInsertPoint(spin);
        Value* next = k.At(k.b.getInt32Ty(), k.parameter(0), k.b.CreateAdd(block, k.b.getInt32(1)));
        Value* flag = k.b.CreateLoad(k.b.getInt32Ty(), next, /*isVolatile=*/true);
        k.b.CreateCondBr(k.b.CreateICmpEQ(flag, k.b.getInt32(0)), spin, on);
        k.b.SetInsertPoint(on);
      });
      AtomicAdd(k, k.At(k.b.getInt32Ty(), k.parameter(0), block), 1);
    });
  };
}

TEST_F(GlobalMemory, ThreadsMayWaitByAtomics) {
  const SimtGrid grid = {.blocks = 4, .threads = 32};
  EXPECT_EQ(FindIn(WaitsForNextBlock(false), grid), "");
  EXPECT_THAT(FindIn(WaitsForNextBlock(true), grid), ContainsRegex("block [0-3]: .*threads 0 spin"));
}

}  // namespace
}  // namespace tailor
