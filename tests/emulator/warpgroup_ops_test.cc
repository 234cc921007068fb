// The intrinsics of sm_90a: mbarriers, bulk copies counted by them, wgmma.
#include <bit>
#include <random>
#include <vector>

#include "codegen/cuda/device_ir/device_ops.h"
#include "codegen/cuda/ptx/assembler.h"
#include "codegen/cuda/ptx/compile_ptx.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "tests/emulator/kernel_builder.h"

namespace tailor {
namespace {

using device::Op;
using llvm::Value;
using testing::HasSubstr;
using Body = std::function<void(KernelBuilder&)>;

std::string RunKernel(const Body& body, const SimtGrid& grid, const std::vector<void*>& memory, uint32_t seed = 1) {
  KernelBuilder kernel(static_cast<int>(memory.size()), body);
  SimtEmulator emulator(kernel.module());
  return emulator.Launch("k", grid, reinterpret_cast<const int64_t*>(memory.data()), seed);
}

Value* SharedByte(KernelBuilder& k, int offset) { return k.SharedAt(k.b.getInt8Ty(), k.b.getInt32(offset)); }
// The tensor map at parameter `number`, which points to global memory.
Value* Map(KernelBuilder& k, int number) { return k.b.CreateAddrSpaceCast(k.parameter(number), k.b.getPtrTy()); }
void IfThread(KernelBuilder& k, int thread, const std::function<void()>& then) {
  EmitIf(k.b, k.b.CreateICmpEQ(k.Thread(), k.b.getInt32(thread)), "one", then);
}
void EmitOp(KernelBuilder& k, Op op, std::vector<Value*> operands = {}) { device::EmitOp(k.b, op, operands); }

// One matmul of [64, 64] by [64, columns]; both operands come by tensor loads with 128-byte swizzle.
struct WgmmaCase {
  const char* name;
  Op op, results;
  int columns;
  bool is_f16;
  bool transposed_b;  // b is [K, N] in memory, else [N, K]
};

enum class Mistake { kNone, kNoFence, kNoWait, kNoWaitForCopies, kTooFewBytes };

class Wgmma : public testing::TestWithParam<WgmmaCase> {
 protected:
  static constexpr int kDepth = 64, kRowBytes = 128;
  static constexpr int kB = 64 * kRowBytes;  // offset of b, after a

  Wgmma() : a_(64 * kDepth), b_(kDepth * columns()), d_(64 * columns()) {
    std::mt19937 random(3);
    for (uint16_t& v : a_) v = Narrow(std::uniform_real_distribution<float>(-1, 1)(random));
    for (uint16_t& v : b_) v = Narrow(std::uniform_real_distribution<float>(-1, 1)(random));
    a_map_ = MapOf(a_, kDepth, 64, kDepth, 64);
    b_map_ = GetParam().transposed_b ? MapOf(b_, columns(), kDepth, 64, kDepth)
                                     : MapOf(b_, kDepth, columns(), kDepth, columns());
  }
  int columns() const { return GetParam().columns; }
  uint16_t Narrow(float value) const {
    return GetParam().is_f16 ? std::bit_cast<uint16_t>(static_cast<_Float16>(value))
                             : std::bit_cast<uint32_t>(value) >> 16;
  }
  double Widen(uint16_t bits) const {
    if (GetParam().is_f16) return static_cast<double>(std::bit_cast<_Float16>(bits));
    return std::bit_cast<float>(uint32_t{bits} << 16);
  }
  static SimtTensorMap MapOf(const std::vector<uint16_t>& memory, uint64_t width, uint64_t height, uint32_t box_width,
                             uint32_t box_height) {
    SimtTensorMap map;
    map.address = reinterpret_cast<uint64_t>(memory.data());
    map.rank = 2;
    map.element_bytes = 2;
    map.swizzle_bytes = 128;
    map.dim_sizes[0] = width;
    map.dim_sizes[1] = height;
    map.strides[0] = 2 * width;
    map.box[0] = box_width;
    map.box[1] = box_height;
    return map;
  }

  Value* Descriptor(KernelBuilder& k, int offset) {
    Value* address = k.b.CreatePtrToInt(SharedByte(k, offset), k.b.getInt64Ty());
    const uint64_t leading = 64 * kRowBytes >> 4, stride = 8 * kRowBytes >> 4;
    return k.b.CreateOr(k.b.CreateLShr(k.b.CreateAnd(address, 0x3ffff), 4),
                        k.b.getInt64(uint64_t{1} << 62 | stride << 32 | leading << 16));
  }

  void Load(KernelBuilder& k, Value* mbarrier, int bytes) {
    EmitOp(k, Op::kMbarrierArriveExpect, {mbarrier, k.b.getInt32(bytes)});
    Value* zero = k.b.getInt32(0);
    EmitOp(k, Op::kTensorLoad2d, {SharedByte(k, 0), Map(k, 0), mbarrier, zero, zero});
    const int boxes = GetParam().transposed_b ? columns() / 64 : 1;
    for (int i = 0; i < boxes; ++i) {
      EmitOp(k, Op::kTensorLoad2d,
             {SharedByte(k, kB + i * 64 * kRowBytes), Map(k, 1), mbarrier, k.b.getInt32(64 * i), zero});
    }
  }

  void Store(KernelBuilder& k, const std::vector<Value*>& registers) {
    Value* lane = k.b.CreateAnd(k.Thread(), 31);
    Value* row = k.b.CreateAdd(k.b.CreateMul(k.b.CreateLShr(k.Thread(), 5), k.b.getInt32(16)), k.b.CreateLShr(lane, 2));
    Value* column = k.b.CreateMul(k.b.CreateAnd(lane, 3), k.b.getInt32(2));
    for (int i = 0; i < columns() / 2; ++i) {
      Value* to_row = k.b.CreateAdd(row, k.b.getInt32(i / 2 % 2 * 8));
      Value* to_column = k.b.CreateAdd(column, k.b.getInt32(i / 4 * 8 + i % 2));
      Value* at = k.b.CreateAdd(k.b.CreateMul(to_row, k.b.getInt32(columns())), to_column);
      k.b.CreateStore(registers[i], k.At(k.b.getFloatTy(), k.parameter(2), at));
    }
  }

  std::vector<Value*> Registers(KernelBuilder& k, Value* all) {
    std::vector<Value*> registers;
    for (int i = 0; i < columns() / 2; ++i) registers.push_back(k.b.CreateExtractValue(all, i));
    return registers;
  }

  std::vector<Value*> Multiply(KernelBuilder& k, std::vector<Value*> accumulators) {
    for (int step = 0; step < kDepth / 16; ++step) {
      accumulators.push_back(Descriptor(k, step * 32));
      accumulators.push_back(Descriptor(k, kB + step * (GetParam().transposed_b ? 16 * kRowBytes : 32)));
      accumulators = Registers(k, device::EmitOp(k.b, GetParam().op, accumulators));
    }
    return accumulators;
  }

  int AllBytes() const { return kB + columns() * kRowBytes; }

  Body Kernel(Mistake mistake) {
    const int all_bytes = AllBytes();
    return [this, mistake, all_bytes](KernelBuilder& k) {
      Value* mbarrier = SharedByte(k, all_bytes);
      IfThread(k, 0, [&] {
        EmitOp(k, Op::kMbarrierInit, {mbarrier, k.b.getInt32(1)});
        EmitOp(k, Op::kFenceMbarrierInit);
      });
      device::EmitBarrier(k.b);
      IfThread(k, 0, [&] { Load(k, mbarrier, all_bytes - (mistake == Mistake::kTooFewBytes ? 16 : 0)); });
      if (mistake != Mistake::kNoWaitForCopies) EmitOp(k, Op::kMbarrierWait, {mbarrier, k.b.getInt32(0)});
      if (mistake != Mistake::kNoFence) EmitOp(k, Op::kWgmmaFence);
      std::vector<Value*> zeros(columns() / 2, llvm::ConstantFP::get(k.b.getFloatTy(), 0));
      std::vector<Value*> accumulators = Multiply(k, zeros);
      EmitOp(k, Op::kWgmmaCommit);
      EmitOp(k, Op::kWgmmaWait, {k.b.getInt32(mistake == Mistake::kNoWait ? 1 : 0)});
      Store(k, Registers(k, device::EmitOp(k.b, GetParam().results, accumulators)));
    };
  }
  std::string Run(Mistake mistake) {
    return RunKernel(Kernel(mistake), {.threads = 128, .shared_bytes = AllBytes() + 8}, {&a_map_, &b_map_, d_.data()});
  }

  std::vector<uint16_t> a_, b_;
  std::vector<float> d_;
  SimtTensorMap a_map_, b_map_;
};

TEST_P(Wgmma, IsTheGemmOfMatricesThatTensorLoadsBring) {
  ASSERT_EQ(Run(Mistake::kNone), "");
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < columns(); ++j) {
      double want = 0;
      for (int m = 0; m < kDepth; ++m) {
        want += Widen(a_[i * kDepth + m]) * Widen(b_[GetParam().transposed_b ? m * columns() + j : j * kDepth + m]);
      }
      ASSERT_NEAR(d_[i * columns() + j], want, 1e-5) << i << "," << j;
    }
  }
}

TEST_P(Wgmma, FindsWhatIsForgotten) {
  EXPECT_THAT(Run(Mistake::kNoFence), HasSubstr("a wgmma of registers that were written since the last fence"));
  EXPECT_THAT(Run(Mistake::kNoWait), HasSubstr("uses the result of a wgmma that is under way"));
  EXPECT_THAT(Run(Mistake::kNoWaitForCopies), HasSubstr("where an asynchronous copy of thread 0 is under way"));
  EXPECT_THAT(Run(Mistake::kTooFewBytes), HasSubstr("threads 0-127 wait at an mbarrier"));
}

// The assembler log check rejects spills and serialised wgmma.
TEST_P(Wgmma, Assembles) {
  auto assembler = cuda::FindAssembler();
  if (!assembler.ok()) GTEST_SKIP() << assembler.status().message();
  KernelBuilder kernel(3, Kernel(Mistake::kNone));
  const cuda::CudaTarget target = *cuda::FindCudaTarget("sm_90a");
  auto ptx = cuda::CompileToPtx(llvm::CloneModule(kernel.module()), target);
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  auto assembly = (*assembler)->Assemble(*ptx, target);
  ASSERT_TRUE(assembly.ok()) << assembly.status();
  EXPECT_TRUE(cuda::CheckAssemblerLog(assembly->log).ok()) << assembly->log;
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Wgmma,
    testing::Values(WgmmaCase{"Bf16N64", Op::kWgmmaM64N64K16Bf16, Op::kWgmmaResults64, 64, false, false},
                    WgmmaCase{"F16N64Transposed", Op::kWgmmaM64N64K16F16Tb, Op::kWgmmaResults64, 64, true, true},
                    WgmmaCase{"F16N128", Op::kWgmmaM64N128K16F16, Op::kWgmmaResults128, 128, true, false},
                    WgmmaCase{"Bf16N128Transposed", Op::kWgmmaM64N128K16Bf16Tb, Op::kWgmmaResults128, 128, false, true},
                    WgmmaCase{"Bf16N256", Op::kWgmmaM64N256K16Bf16, Op::kWgmmaResults256, 256, false, false},
                    WgmmaCase{"F16N256Transposed", Op::kWgmmaM64N256K16F16Tb, Op::kWgmmaResults256, 256, true, true}),
    [](const auto& info) { return std::string(info.param.name); });

// Multiplies operands that threads stored.
TEST(WgmmaOfStores, NeedsAFenceOfTheAsyncProxy) {
  auto body = [](bool fences) {
    return [=](KernelBuilder& k) {
      for (int i = 0; i < 32; ++i) {
        k.b.CreateStore(k.b.getInt32(0),
                        k.SharedAt(k.b.getInt32Ty(), k.b.CreateAdd(k.Thread(), k.b.getInt32(128 * i))));
      }
      if (fences) EmitOp(k, Op::kFenceAsyncProxy);
      device::EmitBarrier(k.b);
      EmitOp(k, Op::kWgmmaFence);
      Value* base = k.b.CreatePtrToInt(SharedByte(k, 0), k.b.getInt64Ty());
      Value* descriptor = k.b.CreateOr(k.b.CreateLShr(k.b.CreateAnd(base, 0x3ffff), 4),
                                       k.b.getInt64(uint64_t{1} << 62 | uint64_t{64} << 32));
      std::vector<Value*> operands(32, llvm::ConstantFP::get(k.b.getFloatTy(), 2));
      operands.insert(operands.end(), {descriptor, descriptor});
      Value* started = device::EmitOp(k.b, Op::kWgmmaM64N64K16Bf16, operands);
      EmitOp(k, Op::kWgmmaCommit);
      EmitOp(k, Op::kWgmmaWait, {k.b.getInt32(0)});
      std::vector<Value*> registers;
      for (int i = 0; i < 32; ++i) registers.push_back(k.b.CreateExtractValue(started, i));
      Value* results = device::EmitOp(k.b, Op::kWgmmaResults64, registers);
      k.b.CreateStore(k.b.CreateExtractValue(results, 31), k.At(k.b.getFloatTy(), k.parameter(0), k.Thread()));
    };
  };
  std::vector<float> out(128);
  const SimtGrid grid = {.threads = 128, .shared_bytes = 16 << 10};
  EXPECT_EQ(RunKernel(body(true), grid, {out.data()}), "");
  EXPECT_THAT(out, testing::Each(2));
  EXPECT_THAT(RunKernel(body(false), grid, {out.data()}), HasSubstr("with no fence_async_proxy between"));
}

TEST(TensorLoad, BringsZerosFromOutside) {
  std::vector<int32_t> in(5 * 6), out(8 * 4);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int32_t>(i + 1);
  SimtTensorMap map;  // 5 rows of 6, boxes of 4 by 8
  map.address = reinterpret_cast<uint64_t>(in.data());
  map.rank = 2;
  map.element_bytes = 4;
  map.dim_sizes[0] = 6;
  map.dim_sizes[1] = 5;
  map.strides[0] = 24;
  map.box[0] = 4;
  map.box[1] = 8;
  auto body = [](KernelBuilder& k) {
    Value* mbarrier = SharedByte(k, 128);
    IfThread(k, 0, [&] {
      EmitOp(k, Op::kMbarrierInit, {mbarrier, k.b.getInt32(1)});
      EmitOp(k, Op::kMbarrierArriveExpect, {mbarrier, k.b.getInt32(128)});
      EmitOp(k, Op::kTensorLoad2d, {SharedByte(k, 0), Map(k, 0), mbarrier, k.b.getInt32(3), k.b.getInt32(-2)});
    });
    device::EmitBarrier(k.b);
    EmitOp(k, Op::kMbarrierWait, {mbarrier, k.b.getInt32(0)});
    Value* word = k.b.CreateLoad(k.b.getInt32Ty(), k.SharedAt(k.b.getInt32Ty(), k.Thread()));
    k.b.CreateStore(word, k.At(k.b.getInt32Ty(), k.parameter(1), k.Thread()));
  };
  EXPECT_EQ(RunKernel(body, {.threads = 32, .shared_bytes = 136}, {&map, out.data()}), "");
  for (int i = 0; i < 32; ++i) {
    const int row = i / 4 - 2, column = i % 4 + 3;
    EXPECT_EQ(out[i], row >= 0 && row < 5 && column < 6 ? in[row * 6 + column] : 0) << i;
  }
}

// Warp 0 copies pieces of 128 bytes through two stages, and warps 1 and 2 add them up. Each stage has a full and an
// empty barrier.
constexpr int kPieces = 7, kStageBytes = 128;

struct Ring {
  explicit Ring(KernelBuilder& k) : k(k) {}
  Value* Full(int piece) { return SharedByte(k, 2 * kStageBytes + piece % 2 * 8); }
  Value* Empty(int piece) { return SharedByte(k, 2 * kStageBytes + 16 + piece % 2 * 8); }

  void Init() {
    for (int stage : {0, 1}) {
      EmitOp(k, Op::kMbarrierInit, {Full(stage), k.b.getInt32(1)});
      EmitOp(k, Op::kMbarrierInit, {Empty(stage), k.b.getInt32(2)});
    }
  }
  void Produce(bool waits) {
    for (int i = 0; i < kPieces; ++i) {
      if (waits) EmitOp(k, Op::kMbarrierWait, {Empty(i), k.b.getInt32(i / 2 % 2 ^ 1)});
      EmitOp(k, Op::kMbarrierArriveExpect, {Full(i), k.b.getInt32(kStageBytes)});
      EmitOp(k, Op::kBulkCopy,
             {SharedByte(k, i % 2 * kStageBytes), k.At(k.b.getInt8Ty(), k.parameter(0), k.b.getInt32(i * kStageBytes)),
              k.b.getInt32(kStageBytes), Full(i)});
    }
  }
  void Consume() {
    Value* lane = k.b.CreateAnd(k.Thread(), 31);
    Value* sum = k.b.getInt32(0);
    for (int i = 0; i < kPieces; ++i) {
      EmitOp(k, Op::kMbarrierWait, {Full(i), k.b.getInt32(i / 2 % 2)});
      Value* at = k.b.CreateAdd(lane, k.b.getInt32(i % 2 * kStageBytes / 4));
      sum = k.b.CreateAdd(sum, k.b.CreateLoad(k.b.getInt32Ty(), k.SharedAt(k.b.getInt32Ty(), at)));
      EmitOp(k, Op::kWarpBarrier);
      EmitIf(k.b, k.b.CreateICmpEQ(lane, k.b.getInt32(0)), "first",
             [&] { EmitOp(k, Op::kMbarrierArrive, {Empty(i)}); });
    }
    k.b.CreateStore(sum, k.At(k.b.getInt32Ty(), k.parameter(1), k.Thread()));
  }
  KernelBuilder& k;
};

std::string RunRing(bool waits, const std::vector<int32_t>& in, std::vector<int32_t>& out, uint32_t seed) {
  auto body = [&](KernelBuilder& k) {
    Ring ring(k);
    IfThread(k, 0, [&] { ring.Init(); });
    device::EmitBarrier(k.b);
    IfThread(k, 0, [&] { ring.Produce(waits); });
    EmitIf(k.b, k.b.CreateICmpUGE(k.Thread(), k.b.getInt32(32)), "consumers", [&] { ring.Consume(); });
  };
  const SimtGrid grid = {.threads = 96, .shared_bytes = 2 * kStageBytes + 32};
  return RunKernel(body, grid, {const_cast<int32_t*>(in.data()), out.data()}, seed);
}

TEST(Mbarriers, OrderAProducerAndItsConsumers) {
  std::vector<int32_t> in(kPieces * 32), out(96);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int32_t>(i * i);
  for (uint32_t seed = 0; seed < 5; ++seed) {
    EXPECT_EQ(RunRing(true, in, out, seed), "");
    for (int thread = 32; thread < 96; ++thread) {
      int32_t want = 0;
      for (int i = 0; i < kPieces; ++i) want += in[i * 32 + thread % 32];
      EXPECT_EQ(out[thread], want);
    }
    EXPECT_NE(RunRing(false, in, out, seed), "") << "the producer overtakes its consumers";
  }
}

TEST(Mbarriers, RefuseMisuse) {
  auto arrive_twice = [](KernelBuilder& k) {
    Value* mbarrier = SharedByte(k, 0);
    IfThread(k, 0, [&] {
      EmitOp(k, Op::kMbarrierInit, {mbarrier, k.b.getInt32(1)});
      for (int bytes : {16, 0}) EmitOp(k, Op::kMbarrierArriveExpect, {mbarrier, k.b.getInt32(bytes)});
    });
  };
  EXPECT_THAT(RunKernel(arrive_twice, {.shared_bytes = 8}, {}),
              HasSubstr("an arrival at an mbarrier that has all 1 of its phase"));
  auto no_init = [](KernelBuilder& k) { EmitOp(k, Op::kMbarrierWait, {SharedByte(k, 0), k.b.getInt32(0)}); };
  EXPECT_THAT(RunKernel(no_init, {.shared_bytes = 8}, {}), HasSubstr("an mbarrier that is not initialised"));
}

// The threads' copies count as arrivals; without one of them the other threads wait forever.
TEST(Mbarriers, CountThreadsCopies) {
  std::vector<int32_t> in(64), out(64);
  for (int i = 0; i < 64; ++i) in[i] = 3 * i;
  auto body = [](int arrivals) {
    return [=](KernelBuilder& k) {
      Value* mbarrier = SharedByte(k, 256);
      IfThread(k, 0, [&] { EmitOp(k, Op::kMbarrierInit, {mbarrier, k.b.getInt32(arrivals)}); });
      device::EmitBarrier(k.b);
      llvm::Type* word = k.b.getInt32Ty();
      EmitOp(k, Op::kCpAsync4, {k.SharedAt(word, k.Thread()), k.At(word, k.parameter(0), k.Thread()), k.b.getInt32(4)});
      EmitOp(k, Op::kCpAsyncArrive, {mbarrier});
      EmitOp(k, Op::kMbarrierWait, {mbarrier, k.b.getInt32(0)});
      Value* from = k.b.CreateXor(k.Thread(), 63);
      k.b.CreateStore(k.b.CreateLoad(word, k.SharedAt(word, from)), k.At(word, k.parameter(1), k.Thread()));
    };
  };
  const SimtGrid grid = {.threads = 64, .shared_bytes = 264};
  EXPECT_EQ(RunKernel(body(64), grid, {in.data(), out.data()}), "");
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], in[63 - i]);
  EXPECT_THAT(RunKernel(body(65), grid, {in.data(), out.data()}), HasSubstr("threads 0-63 wait at an mbarrier"));
}

// The last two of three warps meet at a barrier and read each other's words.
TEST(NamedBarriers, OrderTheWarpsThatMeet) {
  auto body = [](int threads) {
    return [=](KernelBuilder& k) {
      EmitIf(k.b, k.b.CreateICmpUGE(k.Thread(), k.b.getInt32(32)), "two_warps", [&] {
        llvm::Type* word = k.b.getInt32Ty();
        k.b.CreateStore(k.Thread(), k.SharedAt(word, k.Thread()));
        if (threads > 0) EmitOp(k, Op::kNamedBarrier, {k.b.getInt32(1), k.b.getInt32(threads)});
        Value* other = k.b.CreateSub(k.b.getInt32(96 + 31), k.Thread());
        k.b.CreateLoad(word, k.SharedAt(word, other));
      });
    };
  };
  const SimtGrid grid = {.threads = 96, .shared_bytes = 96 * 4};
  EXPECT_EQ(RunKernel(body(64), grid, {}), "");
  EXPECT_THAT(RunKernel(body(0), grid, {}), HasSubstr("with no barrier between"));
  EXPECT_THAT(RunKernel(body(96), grid, {}),
              HasSubstr("threads 0-31 have returned, threads 32-95 wait at a named barrier"));
}

}  // namespace
}  // namespace tailor
