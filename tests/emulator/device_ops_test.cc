// The rows of codegen/cuda/device_ir/device_op_table.h: each is lowered for GPUs and implemented on the host, with the
// documented results.
#include "codegen/cuda/device_ir/device_ops.h"

#include <bit>
#include <cstring>
#include <random>

#include "codegen/cuda/ptx/assemble.h"
#include "codegen/cuda/ptx/compile_ptx.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "tests/emulator/device_functions.h"
#include "tests/emulator/kernel_builder.h"

namespace tailor {
namespace {

using device::Op;
using llvm::Value;
using testing::HasSubstr;

std::vector<int> AllOps() {
  std::vector<int> ops(device::OpSignatures().size());
  for (size_t i = 0; i < ops.size(); ++i) ops[i] = static_cast<int>(i);
  return ops;
}

class EveryDeviceOp : public testing::TestWithParam<int> {
 protected:
  const Op op_ = static_cast<Op>(GetParam());
  const device::OpSignature row_ = device::OpSignatures()[GetParam()];
};

TEST_P(EveryDeviceOp, HasAFormOnTheHost) { EXPECT_NE(simt::FindDeviceFunction(row_.name), nullptr); }

Value* SomeOperand(KernelBuilder& k, char letter, int constant) {
  switch (letter) {
    case 's':
      return k.SharedAt(k.b.getInt8Ty(), k.b.CreateMul(k.Thread(), k.b.getInt32(16)));
    case 'g':
      return k.parameter(0);
    case 'n':
      return k.b.getInt32(constant);
    default:
      return k.b.CreateLoad(device::TypeOf(k.b.getContext(), letter), k.parameter(0));
  }
}

// Calls the op and stores its results.
void CallOnce(KernelBuilder& k, Op op, const device::OpSignature& row) {
  const int constant = std::string_view(row.name).starts_with("registers") ? 24 : 1;
  std::vector<Value*> operands;
  for (const char* letter = row.parameters; *letter != '\0'; ++letter) {
    operands.push_back(SomeOperand(k, *letter, constant));
  }
  Value* result = device::EmitOp(k.b, op, operands);
  if (!result->getType()->isVoidTy()) k.b.CreateStore(result, k.parameter(0));
}

TEST_P(EveryDeviceOp, AssemblesForTheFirstTargetThatHasIt) {
  auto ptxas = cuda::FindPtxas();
  if (!ptxas.ok()) GTEST_SKIP() << ptxas.status().message();
  KernelBuilder kernel(1, [&](KernelBuilder& k) { CallOnce(k, op_, row_); });
  const cuda::CudaTarget target = *cuda::FindCudaTarget(row_.target);
  auto ptx = cuda::CompileToPtx(llvm::CloneModule(kernel.module()), target);
  ASSERT_TRUE(ptx.ok()) << ptx.status();
  EXPECT_THAT(*ptx, testing::Not(HasSubstr("tailor.device")));
  auto cubin = cuda::AssemblePtx(*ptxas, *ptx, target);
  EXPECT_TRUE(cubin.ok()) << cubin.status() << *ptx;
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryDeviceOp, testing::ValuesIn(AllOps()),
                         [](const auto& info) { return std::string(device::OpSignatures()[info.param].name); });

// One launch of one warp; `memory`: the kernel's parameters.
std::string RunWarp(const std::function<void(KernelBuilder&)>& body, const std::vector<void*>& memory,
                    SimtOptions options = {}) {
  KernelBuilder kernel(static_cast<int>(memory.size()), body);
  SimtEmulator emulator(kernel.module(), std::move(options));
  return emulator.Launch("k", {.threads = 32, .shared_bytes = 4096}, reinterpret_cast<const int64_t*>(memory.data()),
                         3);
}

struct MmaCase {
  const char* name;
  Op op;
  int depth;
  int bytes;                  // per element of a and b
  uint32_t (*narrow)(float);  // to an element's bits
  double (*widen)(uint32_t);  // back
};

uint32_t ToBf16(float value) { return std::bit_cast<uint32_t>(value) >> 16; }
double FromBf16(uint32_t bits) { return std::bit_cast<float>(bits << 16); }
uint32_t ToTf32(float value) { return std::bit_cast<uint32_t>(value); }
double FromTf32(uint32_t bits) { return std::bit_cast<float>(bits >> 13 << 13); }
uint32_t ToF16(float value) { return std::bit_cast<uint16_t>(static_cast<_Float16>(value)); }
double FromF16(uint32_t bits) { return static_cast<_Float16>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits))); }

class Mma : public testing::TestWithParam<MmaCase> {
 protected:
  Mma() : a_(16 * 64), b_(8 * 64), c_(16 * 8), d_(16 * 8) {
    std::mt19937 random(5);
    std::uniform_real_distribution<float> values(-2, 2);
    for (int i = 0; i < 16 * depth(); ++i) Put(a_, i, values(random));
    for (int i = 0; i < 8 * depth(); ++i) Put(b_, i, values(random));
    for (float& c : c_) c = values(random);
  }
  int depth() const { return GetParam().depth; }
  void Put(std::vector<uint8_t>& array, int i, float value) {
    const uint32_t bits = GetParam().narrow(value);
    std::memcpy(&array[i * GetParam().bytes], &bits, GetParam().bytes);
  }
  double At(const std::vector<uint8_t>& array, int i) const {
    uint32_t bits = 0;
    std::memcpy(&bits, &array[i * GetParam().bytes], GetParam().bytes);
    return GetParam().widen(bits);
  }
  void ExpectGemm() const {
    for (int i = 0; i < 16 * 8; ++i) {
      double want = c_[i];
      for (int k = 0; k < depth(); ++k) want += At(a_, i / 8 * depth() + k) * At(b_, i % 8 * depth() + k);
      EXPECT_FLOAT_EQ(d_[i], want) << i / 8 << "," << i % 8;
    }
  }
  // The 32-bit word at byte `row` * depth * bytes + `byte` of `array`.
  Value* Word(KernelBuilder& k, Value* array, Value* row, Value* byte) {
    Value* offset = k.b.CreateAdd(k.b.CreateMul(row, k.b.getInt32(depth() * GetParam().bytes)), byte);
    return k.b.CreateLoad(k.b.getInt32Ty(), k.At(k.b.getInt8Ty(), array, offset));
  }
  // The address of register `i` of c or d.
  Value* Accumulator(KernelBuilder& k, Value* array, int i) {
    Value* row = k.b.CreateAdd(Group(k), k.b.getInt32(8 * (i / 2)));
    Value* column = k.b.CreateAdd(k.b.CreateMul(Member(k), k.b.getInt32(2)), k.b.getInt32(i % 2));
    return k.At(k.b.getFloatTy(), array, k.b.CreateAdd(k.b.CreateMul(row, k.b.getInt32(8)), column));
  }
  Value* Group(KernelBuilder& k) { return k.b.CreateLShr(k.Thread(), 2); }
  Value* Member(KernelBuilder& k) { return k.b.CreateAnd(k.Thread(), 3); }
  // Byte offset of register word `i` in a row of a or b: 4 lanes have 4 bytes each of every 16.
  Value* Byte(KernelBuilder& k, int i) {
    return k.b.CreateAdd(k.b.CreateMul(Member(k), k.b.getInt32(4)), k.b.getInt32(16 * i));
  }
  void MultiplyInto(KernelBuilder& k, std::vector<Value*> operands) {
    for (int i = 0; i < 4; ++i) operands.push_back(k.b.CreateLoad(k.b.getFloatTy(), Accumulator(k, k.parameter(2), i)));
    Value* result = device::EmitOp(k.b, GetParam().op, operands);
    for (int i = 0; i < 4; ++i) k.b.CreateStore(k.b.CreateExtractValue(result, i), Accumulator(k, k.parameter(3), i));
  }

  std::vector<uint8_t> a_, b_;  // [16, depth], and b transposed: [8, depth]
  std::vector<float> c_, d_;
};

TEST_P(Mma, IsTheGemmOfFragmentsReadFromMemory) {
  auto body = [&](KernelBuilder& k) {
    std::vector<Value*> operands;
    for (int i = 0; i < 4; ++i) {
      Value* row = k.b.CreateAdd(Group(k), k.b.getInt32(8 * (i % 2)));
      operands.push_back(Word(k, k.parameter(0), row, Byte(k, i / 2)));
    }
    for (int i = 0; i < 2; ++i) operands.push_back(Word(k, k.parameter(1), Group(k), Byte(k, i)));
    MultiplyInto(k, operands);
  };
  EXPECT_EQ(RunWarp(body, {a_.data(), b_.data(), c_.data(), d_.data()}), "");
  ExpectGemm();
}

// Copies `rows` rows of 32 bytes from global `array` to shared memory at `offset`, 16 bytes per thread.
void CopyRows(KernelBuilder& k, Value* array, int rows, int offset) {
  EmitIf(k.b, k.b.CreateICmpULT(k.Thread(), k.b.getInt32(2 * rows)), "copies", [&] {
    Value* at = k.b.CreateMul(k.Thread(), k.b.getInt32(16));
    Value* to = k.SharedAt(k.b.getInt8Ty(), k.b.CreateAdd(at, k.b.getInt32(offset)));
    device::EmitOp(k.b, Op::kCpAsync16, {to, k.At(k.b.getInt8Ty(), array, at), k.b.getInt32(16)});
  });
}

// 16-bit rows of 16, or 32-bit rows of 8: either is two 8x8 matrices of 16-bit elements side by side.
TEST_P(Mma, IsTheGemmOfMatricesInSharedMemory) {
  auto body = [&](KernelBuilder& k) {
    CopyRows(k, k.parameter(0), 16, 0);
    CopyRows(k, k.parameter(1), 8, 512);
    device::EmitOp(k.b, Op::kCpAsyncCommit, {});
    device::EmitOp(k.b, Op::kCpAsyncWait, {k.b.getInt32(0)});
    device::EmitBarrier(k.b);
    Value* lane = k.Thread();
    Value* row_of_a = k.b.CreateMul(k.b.CreateAnd(lane, 15), k.b.getInt32(32));
    Value* half_of_a = k.b.CreateMul(k.b.CreateLShr(lane, 4), k.b.getInt32(16));
    Value* a = device::EmitOp(k.b, Op::kLdmatrixX4, {k.SharedAt(k.b.getInt8Ty(), k.b.CreateAdd(row_of_a, half_of_a))});
    Value* row_of_b = k.b.CreateMul(k.b.CreateAnd(lane, 7), k.b.getInt32(32));
    Value* half_of_b = k.b.CreateMul(k.b.CreateAnd(k.b.CreateLShr(lane, 3), 1), k.b.getInt32(16));
    Value* at_b = k.b.CreateAdd(k.b.CreateAdd(row_of_b, half_of_b), k.b.getInt32(512));
    Value* b = device::EmitOp(k.b, Op::kLdmatrixX2, {k.SharedAt(k.b.getInt8Ty(), at_b)});
    std::vector<Value*> operands;
    for (int i = 0; i < 4; ++i) operands.push_back(k.b.CreateExtractValue(a, i));
    for (int i = 0; i < 2; ++i) operands.push_back(k.b.CreateExtractValue(b, i));
    MultiplyInto(k, operands);
  };
  EXPECT_EQ(RunWarp(body, {a_.data(), b_.data(), c_.data(), d_.data()}), "");
  ExpectGemm();
}

INSTANTIATE_TEST_SUITE_P(Types, Mma,
                         testing::Values(MmaCase{"Bf16", Op::kMmaM16N8K16Bf16, 16, 2, ToBf16, FromBf16},
                                         MmaCase{"F16", Op::kMmaM16N8K16F16, 16, 2, ToF16, FromF16},
                                         MmaCase{"Tf32", Op::kMmaM16N8K8Tf32, 8, 4, ToTf32, FromTf32}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Ldmatrix, TransposesOnDemand) {
  for (bool transposed : {false, true}) {
    std::vector<uint16_t> in(64), out(64);
    for (int i = 0; i < 64; ++i) in[i] = static_cast<uint16_t>(i);
    auto body = [&](KernelBuilder& k) {
      Value* word = k.b.CreateLoad(k.b.getInt32Ty(), k.At(k.b.getInt32Ty(), k.parameter(0), k.Thread()));
      k.b.CreateStore(word, k.SharedAt(k.b.getInt32Ty(), k.Thread()));
      device::EmitBarrier(k.b);
      Value* row = k.b.CreateMul(k.b.CreateAnd(k.Thread(), 7), k.b.getInt32(16));
      Value* loaded =
          device::EmitOp(k.b, transposed ? Op::kLdmatrixX1Trans : Op::kLdmatrixX1, {k.SharedAt(k.b.getInt8Ty(), row)});
      k.b.CreateStore(loaded, k.At(k.b.getInt32Ty(), k.parameter(1), k.Thread()));
    };
    EXPECT_EQ(RunWarp(body, {in.data(), out.data()}), "");
    for (int i = 0; i < 64; ++i) EXPECT_EQ(out[i], transposed ? i % 8 * 8 + i / 8 : i);
  }
}

// Every thread copies one element in each of two groups, waits until `pending` are in flight, and stores both.
std::vector<uint32_t> CopyTwoGroups(int pending) {
  std::vector<uint32_t> in(64), out(64);
  for (int i = 0; i < 64; ++i) in[i] = i + 1;
  auto body = [&](KernelBuilder& k) {
    llvm::Type* word = k.b.getInt32Ty();
    Value* at[] = {k.Thread(), k.b.CreateAdd(k.Thread(), k.b.getInt32(32))};
    for (Value* i : at) {
      device::EmitOp(k.b, Op::kCpAsync4,
                     {k.SharedAt(word, i), k.At(word, k.parameter(0), i), k.b.getInt32(i == at[0] ? 4 : 2)});
      device::EmitOp(k.b, Op::kCpAsyncCommit, {});
    }
    device::EmitOp(k.b, Op::kCpAsyncWait, {k.b.getInt32(pending)});
    for (Value* i : at) k.b.CreateStore(k.b.CreateLoad(word, k.SharedAt(word, i)), k.At(word, k.parameter(1), i));
  };
  EXPECT_EQ(RunWarp(body, {in.data(), out.data()}, {.checks_accesses = false}), "");
  return out;
}

TEST(CpAsync, BytesArriveWithTheirGroupAndNotBefore) {
  for (int pending : {0, 1, 2}) {
    const std::vector<uint32_t> out = CopyTwoGroups(pending);
    for (uint32_t i = 0; i < 64; ++i) {
      const bool arrived = i < 32 ? pending < 2 : pending < 1;
      EXPECT_EQ(out[i], arrived ? i + 1 : 0xffffffffu) << "waiting for all but " << pending;
    }
  }
}

TEST(CpAsync, RefusesWhatADeviceRefuses) {
  uint32_t memory[8] = {};
  auto copy = [](int offset, int bytes) {
    return [=](KernelBuilder& k) {
      Value* at = k.b.CreateAdd(k.b.CreateMul(k.Thread(), k.b.getInt32(16)), k.b.getInt32(offset));
      device::EmitOp(k.b, Op::kCpAsync4, {k.SharedAt(k.b.getInt8Ty(), at), k.parameter(0), k.b.getInt32(bytes)});
    };
  };
  EXPECT_EQ(RunWarp(copy(4, 0), {memory}), "");
  EXPECT_THAT(RunWarp(copy(2, 4), {memory}), HasSubstr("between addresses that are not multiples of 4"));
  EXPECT_THAT(RunWarp(copy(4, 5), {memory}), HasSubstr("an asynchronous copy of 5 bytes, more than 4"));
}

TEST(Ballot, HasABitOfEveryLane) {
  std::vector<uint32_t> out(32);
  auto body = [](KernelBuilder& k) {
    Value* bit = k.b.CreateICmpUGT(k.Thread(), k.b.getInt32(20));
    k.b.CreateStore(device::EmitOp(k.b, Op::kBallot, {bit}), k.At(k.b.getInt32Ty(), k.parameter(0), k.Thread()));
  };
  EXPECT_EQ(RunWarp(body, {out.data()}), "");
  EXPECT_THAT(out, testing::Each(0xffe00000u));
}

TEST(Shuffles, DownAndByIndex) {
  std::vector<int32_t> down(32), index(32);
  auto body = [](KernelBuilder& k) {
    Value* from = k.b.CreateMul(k.Thread(), k.b.getInt32(5));
    k.b.CreateStore(device::EmitShuffleDown(k.b, k.Thread(), 3), k.At(k.b.getInt32Ty(), k.parameter(0), k.Thread()));
    k.b.CreateStore(device::EmitShuffleIndex(k.b, k.Thread(), from),
                    k.At(k.b.getInt32Ty(), k.parameter(1), k.Thread()));
  };
  EXPECT_EQ(RunWarp(body, {down.data(), index.data()}), "");
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(down[i], i + 3 < 32 ? i + 3 : i);
    EXPECT_EQ(index[i], i * 5 % 32);
  }
}

}  // namespace
}  // namespace tailor
