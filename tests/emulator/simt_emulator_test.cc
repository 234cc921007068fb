#include "tests/emulator/simt_emulator.h"

#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/emulator/kernel_builder.h"

namespace tailor {
namespace {

using llvm::Value;
using testing::HasSubstr;

std::string RunKernel(const std::function<void(KernelBuilder&)>& body, const SimtGrid& grid,
                      const std::vector<void*>& parameters = {}, uint32_t seed = 1) {
  KernelBuilder kernel(static_cast<int>(parameters.size()), body);
  SimtEmulator emulator(kernel.module());
  return emulator.Launch("k", grid, reinterpret_cast<const int64_t*>(parameters.data()), seed);
}

// out[block * threads + thread] = that number.
void NumberThreads(KernelBuilder& k) {
  Value* first = k.b.CreateMul(device::EmitBlockId(k.b), device::EmitBlockDim(k.b));
  Value* number = k.b.CreateAdd(first, k.Thread());
  k.b.CreateStore(number, k.At(k.b.getInt32Ty(), k.parameter(0), number));
}

TEST(SimtEmulator, EveryThreadOfEveryBlockRunsOnce) {
  for (bool together : {false, true}) {
    std::vector<int32_t> out(7 * 96, -1), want(7 * 96);
    std::iota(want.begin(), want.end(), 0);
    EXPECT_EQ(RunKernel(NumberThreads, {.blocks = 7, .threads = 96, .cooperative = together}, {out.data()}), "");
    EXPECT_EQ(out, want);
  }
}

TEST(SimtEmulator, OneEmulatorServesLaunchesOfAnySize) {
  KernelBuilder kernel(1, NumberThreads);
  SimtEmulator emulator(kernel.module());
  EXPECT_TRUE(emulator.HasKernel("k"));
  for (int threads : {32, 1024, 64}) {
    std::vector<int32_t> out(2 * threads, -1), want(2 * threads);
    std::iota(want.begin(), want.end(), 0);
    const int64_t slot = reinterpret_cast<int64_t>(out.data());
    EXPECT_EQ(emulator.Launch("k", {.blocks = 2, .threads = threads}, &slot, threads), "");
    EXPECT_EQ(out, want);
  }
  EXPECT_EQ(emulator.Launch("other", {}, nullptr, 1), "no kernel other");
}

TEST(SimtEmulator, RefusesGridsThatNoDeviceTakes) {
  auto nothing = [](KernelBuilder&) {};
  EXPECT_EQ(RunKernel(nothing, {.blocks = 0}), "kernel k: a grid of 0 blocks");
  EXPECT_EQ(RunKernel(nothing, {.threads = 33}), "kernel k: blocks of 33 threads");
  EXPECT_EQ(RunKernel(nothing, {.threads = 2048}), "kernel k: blocks of 2048 threads");
  EXPECT_EQ(RunKernel(nothing, {.shared_bytes = 232449}), "kernel k: 232449 bytes of shared memory");
}

TEST(SimtEmulator, NamesADeviceFunctionThatItHasNot) {
  auto body = [](KernelBuilder& k) {
    k.b.CreateCall(k.module().getOrInsertFunction("tailor.device.teleport", k.b.getVoidTy()));
  };
  EXPECT_EQ(RunKernel(body, {}), "kernel k: no form of tailor.device.teleport on the host");
}

// The first `count` threads of a block wait at a barrier.
void SyncFirst(KernelBuilder& k, int count) {
  EmitIf(k.b, k.b.CreateICmpULT(k.Thread(), k.b.getInt32(count)), "early", [&] { device::EmitBarrier(k.b); });
}

TEST(SimtEmulator, ABarrierThatSomeThreadsMiss) {
  auto body = [](KernelBuilder& k) { SyncFirst(k, 40); };
  EXPECT_EQ(RunKernel(body, {.threads = 64}),
            "kernel k: block 0: threads 0-39 wait at a barrier, threads 40-63 have returned");
  EXPECT_EQ(RunKernel(body, {.threads = 32}), "");
}

TEST(SimtEmulator, ThreadsAtDifferentBarriers) {
  auto body = [](KernelBuilder& k) {
    SyncFirst(k, 33);
    device::EmitBarrier(k.b);
  };
  EXPECT_EQ(RunKernel(body, {.blocks = 1, .threads = 64}),
            "kernel k: block 0: threads 0-32 wait at a barrier, threads 33-63 wait at a barrier elsewhere");
}

TEST(SimtEmulator, AShuffleThatSomeLanesMiss) {
  auto body = [](KernelBuilder& k) {
    EmitIf(k.b, k.b.CreateICmpNE(k.Thread(), k.b.getInt32(5)), "others",
           [&] { device::EmitShuffleXor(k.b, k.Thread(), 1); });
  };
  EXPECT_EQ(RunKernel(body, {.blocks = 1, .threads = 32}),
            "kernel k: block 0: threads 0-4, 6-31 wait at a shuffle, threads 5 have returned");
}

TEST(SimtEmulator, ShufflesGiveThePartnersValue) {
  auto body = [](KernelBuilder& k) {
    Value* value = device::EmitShuffleXor(k.b, k.b.CreateMul(k.Thread(), k.b.getInt32(3)), 6);
    k.b.CreateStore(value, k.At(k.b.getInt32Ty(), k.parameter(0), k.Thread()));
  };
  std::vector<int32_t> out(64);
  EXPECT_EQ(RunKernel(body, {.threads = 64}, {out.data()}), "");
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], 3 * (i ^ 6));
}

// Each block stores its number, syncs the grid if `meets`, and reads its neighbour's number.
void ReadNeighbour(KernelBuilder& k, bool meets) {
  Value* block = device::EmitBlockId(k.b);
  Value* is_first = k.b.CreateICmpEQ(k.Thread(), k.b.getInt32(0));
  EmitIf(k.b, is_first, "own", [&] { k.b.CreateStore(block, k.At(k.b.getInt32Ty(), k.parameter(0), block)); });
  if (meets) device::EmitGridBarrier(k.b, k.parameter(2));
  Value* next = k.b.CreateURem(k.b.CreateAdd(block, k.b.getInt32(1)), device::EmitGridDim(k.b));
  Value* read = k.b.CreateLoad(k.b.getInt32Ty(), k.At(k.b.getInt32Ty(), k.parameter(0), next));
  EmitIf(k.b, is_first, "result", [&] { k.b.CreateStore(read, k.At(k.b.getInt32Ty(), k.parameter(1), block)); });
}

class GridBarrier : public testing::Test {
 protected:
  std::string Run(const std::function<void(KernelBuilder&)>& body, bool together) {
    return RunKernel(body, {.blocks = 5, .threads = 64, .cooperative = together},
                     {own_.data(), seen_.data(), &counter_});
  }
  std::vector<int32_t> own_ = std::vector<int32_t>(5, -1), seen_ = std::vector<int32_t>(5, -1);
  uint32_t counter_ = 0;
};

TEST_F(GridBarrier, OrdersBlocks) {
  EXPECT_EQ(Run([](KernelBuilder& k) { ReadNeighbour(k, true); }, true), "");
  EXPECT_THAT(seen_, testing::ElementsAre(1, 2, 3, 4, 0));
  EXPECT_EQ(Run([](KernelBuilder& k) { ReadNeighbour(k, true); }, true), "") << "the counter serves again";
}

TEST_F(GridBarrier, NeedsBlocksThatAreAliveAtOnce) {
  EXPECT_THAT(Run([](KernelBuilder& k) { ReadNeighbour(k, true); }, false),
              HasSubstr(": a barrier of the grid, whose blocks run one by one"));
}

TEST_F(GridBarrier, NeedsAZeroedCounter) {
  counter_ = 7;
  EXPECT_THAT(Run([](KernelBuilder& k) { ReadNeighbour(k, true); }, true),
              HasSubstr(": the counter of the grid's barriers is 7, where all but its highest bit are to be 0"));
}

TEST_F(GridBarrier, NeedsEveryBlock) {
  auto body = [](KernelBuilder& k) {
    EmitIf(k.b, k.b.CreateICmpNE(device::EmitBlockId(k.b), k.b.getInt32(2)), "others",
           [&] { device::EmitGridBarrier(k.b, k.parameter(2)); });
  };
  EXPECT_THAT(Run(body, true),
              HasSubstr("waits at a barrier of the grid, where 1 blocks that have returned are missed"));
}

}  // namespace
}  // namespace tailor
