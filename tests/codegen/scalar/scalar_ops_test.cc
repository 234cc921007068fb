// Integer, comparison and logic semantics at the edges; register and memory forms; neutral elements and lane
// reductions; and that no op at any CPU level needs a function from elsewhere.
#include "codegen/scalar/scalar_ops.h"

#include <bit>
#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "codegen/link/link.h"
#include "codegen/link/target_machine.h"
#include "codegen/scalar/scalar_ops_cast.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/codegen/math/lane_jit.h"

namespace tailor {
namespace {

using testing::ElementsAre;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

constexpr DType kAllTypes[] = {DType::kBool, DType::kI8,  DType::kI16, DType::kI32, DType::kI64,
                               DType::kU8,   DType::kU16, DType::kU32, DType::kU64, DType::kF16,
                               DType::kBF16, DType::kF32, DType::kF64};

template <class T>
std::vector<T> Apply(OpKind op, DType dtype, const std::vector<T>& x, const std::vector<T>& y = {}) {
  const auto one = math::LaneJit(math::UseOf(op, dtype), 1).Run<T>(x, y);
  EXPECT_EQ(math::LaneJit(math::UseOf(op, dtype), 4).Run<T>(x, y), one);
  return one;
}

TEST(ScalarOps, IntegerDivisionNeverTraps) {
  EXPECT_THAT(Apply<int32_t>(OpKind::kDiv, DType::kI32, {7, -7, 7, INT32_MIN, INT32_MIN, 0, INT32_MAX, 5},
                             {2, 2, 0, -1, 0, 0, -1, -5}),
              ElementsAre(3, -3, 0, INT32_MIN, 0, 0, -INT32_MAX, -1));
  EXPECT_THAT(Apply<int8_t>(OpKind::kDiv, DType::kI8, {-128, -128, 127, 1}, {-1, 1, 0, 2}),
              ElementsAre(-128, -128, 0, 0));
  EXPECT_THAT(Apply<int64_t>(OpKind::kDiv, DType::kI64, {INT64_MIN, INT64_MIN, 9, -9}, {-1, 0, 4, 4}),
              ElementsAre(INT64_MIN, 0, 2, -2));
  EXPECT_THAT(Apply<uint8_t>(OpKind::kDiv, DType::kU8, {255, 255, 200, 7}, {255, 0, 3, 8}), ElementsAre(1, 0, 66, 0));
  EXPECT_THAT(Apply<uint64_t>(OpKind::kDiv, DType::kU64, {UINT64_MAX, 1, 0, 10}, {2, 0, 0, UINT64_MAX}),
              ElementsAre(UINT64_MAX / 2, 0, 0, 0));
}

TEST(ScalarOps, RemaindersTakeTheSignOfOneOperand) {
  const std::vector<int32_t> x = {7, -7, 7, -7, INT32_MIN, 5, INT32_MIN, 0}, y = {3, 3, -3, -3, -1, 0, 3, -5};
  EXPECT_THAT(Apply<int32_t>(OpKind::kMod, DType::kI32, x, y), ElementsAre(1, 2, -2, -1, 0, 0, 1, 0));
  EXPECT_THAT(Apply<int32_t>(OpKind::kRem, DType::kI32, x, y), ElementsAre(1, -1, 1, -1, 0, 0, -2, 0));
  EXPECT_THAT(Apply<uint8_t>(OpKind::kMod, DType::kU8, {255, 255, 200, 7}, {255, 0, 3, 8}), ElementsAre(0, 0, 2, 7));
  EXPECT_THAT(Apply<float>(OpKind::kMod, DType::kF32, {-1, 5.5f, -5.5f, 1}, {3, -2, -2, -kInf}),
              ElementsAre(2, -0.5f, -1.5f, -kInf));
}

TEST(ScalarOps, ShiftsMaskTheirCount) {
  EXPECT_THAT(Apply<int8_t>(OpKind::kShiftRight, DType::kI8, {-128, -128, 64, -1}, {7, 8, 1, -1}),
              ElementsAre(-1, -128, 32, -1));
  EXPECT_THAT(Apply<uint8_t>(OpKind::kShiftRight, DType::kU8, {128, 255, 255, 1}, {7, 9, 0, 1}),
              ElementsAre(1, 127, 255, 0));
  EXPECT_THAT(Apply<int32_t>(OpKind::kShiftLeft, DType::kI32, {1, 1, 3, -1}, {31, 32, 33, 4}),
              ElementsAre(INT32_MIN, 1, 6, -16));
}

TEST(ScalarOps, RoundingGoesToWholeNumbers) {
  const std::vector<float> x = {-2.5f, 1.5f, 0.49999997f, -0.0f, 2.5f, 8388609, -kInf, -0.75f};
  EXPECT_THAT(Apply<float>(OpKind::kRound, DType::kF32, x), ElementsAre(-2, 2, 0, 0, 2, 8388609, -kInf, -1));
  EXPECT_THAT(Apply<float>(OpKind::kFloor, DType::kF32, x), ElementsAre(-3, 1, 0, 0, 2, 8388609, -kInf, -1));
  EXPECT_THAT(Apply<float>(OpKind::kCeil, DType::kF32, x), ElementsAre(-2, 2, 1, 0, 3, 8388609, -kInf, 0));
  EXPECT_THAT(Apply<float>(OpKind::kTrunc, DType::kF32, x), ElementsAre(-2, 1, 0, 0, 2, 8388609, -kInf, 0));
}

TEST(ScalarOps, IntegersWrap) {
  EXPECT_THAT(Apply<int8_t>(OpKind::kAdd, DType::kI8, {127, -128, 100, 1}, {1, -1, 100, 1}),
              ElementsAre(-128, 127, -56, 2));
  EXPECT_THAT(Apply<int32_t>(OpKind::kMul, DType::kI32, {INT32_MAX, 65536, -3, 0}, {2, 65536, 4, 9}),
              ElementsAre(-2, 0, -12, 0));
  EXPECT_THAT(Apply<int32_t>(OpKind::kAbs, DType::kI32, {INT32_MIN, -5, 5, 0}), ElementsAre(INT32_MIN, 5, 5, 0));
  EXPECT_THAT(Apply<int32_t>(OpKind::kNeg, DType::kI32, {INT32_MIN, -5, 5, 0}), ElementsAre(INT32_MIN, 5, -5, 0));
  EXPECT_THAT(Apply<uint16_t>(OpKind::kSub, DType::kU16, {0, 1, 65535, 7}, {1, 2, 65535, 0}),
              ElementsAre(65535, 65535, 0, 7));
  EXPECT_THAT(Apply<uint8_t>(OpKind::kAbs, DType::kU8, {0, 1, 200, 255}), ElementsAre(0, 1, 200, 255));
}

TEST(ScalarOps, MaxAndMinPropagateNaN) {
  for (OpKind op : {OpKind::kMax, OpKind::kMin}) {
    const auto got = Apply<uint32_t>(op, DType::kF32,
                                     {std::bit_cast<uint32_t>(kNaN), std::bit_cast<uint32_t>(1.0f),
                                      std::bit_cast<uint32_t>(kNaN), std::bit_cast<uint32_t>(2.0f)},
                                     {std::bit_cast<uint32_t>(1.0f), std::bit_cast<uint32_t>(kNaN),
                                      std::bit_cast<uint32_t>(kNaN), std::bit_cast<uint32_t>(-kInf)});
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(std::bit_cast<float>(got[i]))) << i;
    EXPECT_EQ(std::bit_cast<float>(got[3]), op == OpKind::kMax ? 2.0f : -kInf);
  }
  EXPECT_THAT(Apply<uint8_t>(OpKind::kMax, DType::kU8, {255, 0, 128, 1}, {1, 127, 127, 1}),
              ElementsAre(255, 127, 128, 1));
  EXPECT_THAT(Apply<int8_t>(OpKind::kMin, DType::kI8, {-128, 0, 127, 1}, {1, 127, -1, 1}), ElementsAre(-128, 0, -1, 1));
}

std::vector<uint8_t> Compare(OpKind op, const std::vector<float>& x, const std::vector<float>& y) {
  return math::LaneJit(math::UseOf(op, DType::kF32), 4).Run<uint8_t>(x, y);
}

TEST(ScalarOps, ComparisonsAreIeee) {
  const std::vector<float> x = {1, kNaN, 0.0f, 2}, y = {2, kNaN, -0.0f, 1};
  EXPECT_THAT(Compare(OpKind::kEq, x, y), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(Compare(OpKind::kNe, x, y), ElementsAre(1, 1, 0, 1));
  EXPECT_THAT(Compare(OpKind::kLt, x, y), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(Compare(OpKind::kLe, x, y), ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(Compare(OpKind::kGt, x, y), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(Compare(OpKind::kGe, x, y), ElementsAre(0, 0, 1, 1));
}

TEST(ScalarOps, BitcastKeepsBytes) {
  const auto bits = math::LaneJit(math::UseOf(OpKind::kBitcast, DType::kF32, DType::kI32), 4)
                        .Run<int32_t>(std::vector<float>{1, -0.0f, kNaN, 2}, std::vector<float>(4));
  EXPECT_THAT(bits, ElementsAre(0x3f800000, INT32_MIN, std::bit_cast<int32_t>(kNaN), 0x40000000));
  const auto truth = math::LaneJit(math::UseOf(OpKind::kBitcast, DType::kU8, DType::kBool), 4)
                         .Run<uint8_t>(std::vector<uint8_t>{0, 1, 128, 255}, std::vector<uint8_t>(4));
  EXPECT_THAT(truth, ElementsAre(0, 1, 1, 1));
}

TEST(ScalarOps, ComparisonsRespectSign) {
  const std::vector<uint32_t> x = {0xffffffffu}, y = {1};
  EXPECT_EQ(math::LaneJit(math::UseOf(OpKind::kLt, DType::kU32), 1).Run<uint8_t>(x, y)[0], 0);
  EXPECT_EQ(math::LaneJit(math::UseOf(OpKind::kLt, DType::kI32), 1).Run<uint8_t>(x, y)[0], 1);
}

TEST(ScalarOps, LogicIsBitwiseOnIntegersAndLogicalOnBool) {
  EXPECT_THAT(Apply<int32_t>(OpKind::kNot, DType::kI32, {0, -1, 5, 1}), ElementsAre(-1, 0, -6, -2));
  EXPECT_THAT(Apply<uint8_t>(OpKind::kNot, DType::kBool, {0, 1, 1, 0}), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(Apply<uint8_t>(OpKind::kAnd, DType::kBool, {0, 1, 1, 0}, {1, 1, 0, 0}), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(Apply<uint8_t>(OpKind::kXor, DType::kU8, {12, 255, 1, 0}, {10, 1, 1, 7}), ElementsAre(6, 254, 0, 7));
  EXPECT_THAT(Apply<uint8_t>(OpKind::kOr, DType::kU8, {12, 255, 1, 0}, {10, 1, 1, 7}), ElementsAre(14, 255, 1, 7));
}

TEST(ScalarOps, SelectPicksPerLane) {
  const std::vector<uint8_t> condition = {1, 0, 0, 1};
  const std::vector<double> on_true = {1, 2, 3, 4}, on_false = {-1, -2, -3, -4};
  std::vector<double> out(4);
  math::LaneJit(math::UseOf(OpKind::kSelect, DType::kF64), 4)
      .Run(out.data(), condition.data(), on_true.data(), on_false.data(), 4);
  EXPECT_THAT(out, ElementsAre(1, -2, -3, 4));
}

TEST(ScalarOps, AnyNonZeroByteInMemoryIsTrue) {
  EXPECT_THAT(Apply<uint8_t>(OpKind::kOr, DType::kBool, {2, 0, 255, 0}, {0, 0, 0, 128}), ElementsAre(1, 0, 1, 1));
}

std::string Print(const llvm::Value* value) {
  std::string text;
  llvm::raw_string_ostream(text) << *value;
  return text;
}

TEST(ScalarOps, LiteralsComeFromMemoryBits) {
  llvm::LLVMContext context;
  llvm::IRBuilder<> b(context);
  EXPECT_EQ(Print(EmitLiteral(b, DType::kF16, 0x3e00, 1)), "float 1.500000e+00");
  EXPECT_EQ(Print(EmitLiteral(b, DType::kBF16, 0xc000, 1)), "float -2.000000e+00");
  EXPECT_EQ(Print(EmitLiteral(b, DType::kI8, 0xff, 1)), "i8 -1");
  EXPECT_EQ(Print(EmitLiteral(b, DType::kBool, 1, 1)), "i1 true");
  EXPECT_EQ(Print(EmitLiteral(b, DType::kF64, std::bit_cast<uint64_t>(0.5), 1)), "double 5.000000e-01");
  EXPECT_EQ(Print(EmitLiteral(b, DType::kI16, 7, 2)), "<2 x i16> <i16 7, i16 7>");
}

TEST(ScalarOps, NeutralElementsLoseToEverything) {
  llvm::LLVMContext context;
  llvm::IRBuilder<> b(context);
  EXPECT_EQ(Print(EmitNeutral(b, OpKind::kAdd, DType::kF32, 1)), "float 0.000000e+00");
  EXPECT_EQ(Print(EmitNeutral(b, OpKind::kMul, DType::kF64, 1)), "double 1.000000e+00");
  EXPECT_EQ(Print(EmitNeutral(b, OpKind::kMul, DType::kU8, 1)), "i8 1");
  EXPECT_EQ(Print(EmitNeutral(b, OpKind::kMax, DType::kF32, 1)), "float 0xFFF0000000000000");
  EXPECT_EQ(Print(EmitNeutral(b, OpKind::kMin, DType::kF64, 1)), "double 0x7FF0000000000000");
  EXPECT_EQ(Print(EmitNeutral(b, OpKind::kMax, DType::kI8, 1)), "i8 -128");
  EXPECT_EQ(Print(EmitNeutral(b, OpKind::kMin, DType::kI8, 1)), "i8 127");
  EXPECT_EQ(Print(EmitNeutral(b, OpKind::kMax, DType::kU16, 1)), "i16 0");
  EXPECT_EQ(Print(EmitNeutral(b, OpKind::kMin, DType::kU16, 1)), "i16 -1");
}

TEST(ScalarOps, LaneReductionGoesByHalves) {
  llvm::LLVMContext context;
  llvm::IRBuilder<> b(context);
  // Constants fold, so the sum shows the order: (2^24 + 1) + (-2^24 + 1) by halves keeps what a chain loses.
  llvm::Constant* lanes[] = {llvm::ConstantFP::get(b.getFloatTy(), 0x1p24), llvm::ConstantFP::get(b.getFloatTy(), 1),
                             llvm::ConstantFP::get(b.getFloatTy(), -0x1p24), llvm::ConstantFP::get(b.getFloatTy(), 1)};
  llvm::Value* sum = EmitLaneReduction(b, EmitTarget{}, OpKind::kAdd, DType::kF32, llvm::ConstantVector::get(lanes));
  EXPECT_EQ(Print(sum), "float 2.000000e+00");
  llvm::Constant* integers = llvm::ConstantDataVector::get(context, llvm::ArrayRef<uint32_t>{3, 9, 7, 1});
  EXPECT_EQ(Print(EmitLaneReduction(b, EmitTarget{}, OpKind::kMax, DType::kI32, integers)), "i32 9");
}

TEST(ScalarOps, LaneScanCombinesEarlierLanesByDoublingDistance) {
  llvm::LLVMContext context;
  llvm::IRBuilder<> b(context);
  auto lanes = [&](std::initializer_list<double> values) {
    llvm::SmallVector<llvm::Constant*> constants;
    for (double value : values) constants.push_back(llvm::ConstantFP::get(b.getFloatTy(), value));
    return llvm::ConstantVector::get(constants);
  };
  auto scan = [&](OpKind combiner, std::initializer_list<double> values) {
    return EmitLaneScan(b, EmitTarget{}, combiner, DType::kF32, lanes(values));
  };
  // Constants fold. 1 + 1 is added to 2^24 as one number, where a chain would lose both.
  EXPECT_EQ(scan(OpKind::kAdd, {0x1p24, 1, 1, 1}), lanes({0x1p24, 0x1p24, 0x1p24 + 2, 0x1p24 + 2}));
  EXPECT_EQ(scan(OpKind::kMul, {2, 3, 5, 7}), lanes({2, 6, 30, 210}));
  const auto integers = [&](llvm::ArrayRef<uint32_t> values) { return llvm::ConstantDataVector::get(context, values); };
  const auto scan_integers = [&](OpKind combiner) {
    return EmitLaneScan(b, EmitTarget{}, combiner, DType::kI32, integers({4, 3, 8, 7}));
  };
  EXPECT_EQ(scan_integers(OpKind::kMax), integers({4, 4, 8, 8}));
  EXPECT_EQ(scan_integers(OpKind::kMin), integers({4, 3, 3, 3}));
}

TEST(ScalarOps, CanEmitFollowsTheOpTable) {
  EXPECT_TRUE(CanEmit(OpKind::kExp, DType::kF64));
  EXPECT_TRUE(CanEmit(OpKind::kExp, DType::kBF16));
  EXPECT_FALSE(CanEmit(OpKind::kExp, DType::kI32));
  EXPECT_FALSE(CanEmit(OpKind::kAdd, DType::kBool));
  EXPECT_TRUE(CanEmit(OpKind::kXor, DType::kBool));
  EXPECT_FALSE(CanEmit(OpKind::kXor, DType::kF32));
  EXPECT_FALSE(CanEmit(OpKind::kDot, DType::kF32));
}

struct Level {
  const char* cpu;
  int lanes;
};

class EveryOp : public testing::TestWithParam<Level> {};

TEST_P(EveryOp, CallsNothing) {
  const auto [cpu, lanes] = GetParam();
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>("every_op", context);
  const TargetTraits traits = FindCpuTarget(cpu)->traits;
  const EmitTarget target = EmitTarget::Of(traits);
  if (traits.half_conversions) SetHalfConversions(*module);
  int count = 0;
  for (const OpInfo& info : AllOps()) {
    for (DType dtype : kAllTypes) {
      if (!CanEmit(info.kind, dtype)) continue;
      for (DType to : kAllTypes) {
        if (info.kind != OpKind::kCast && info.kind != OpKind::kBitcast && to != DType::kBool) continue;
        if (info.kind == OpKind::kBitcast && SizeOf(dtype) != SizeOf(to)) continue;
        math::EmitOpLoop(*module, target, math::UseOf(info.kind, dtype, to), lanes, "f" + std::to_string(count++));
      }
    }
  }
  EXPECT_GT(count, 300);
  EXPECT_THAT(math::UndefinedSymbols(std::move(module), cpu), testing::IsEmpty());
}

// Where there are instructions to convert f16, LLVM must not compute in it: they are all that CPUs have.
TEST_P(EveryOp, ComputesF16InF32) {
  const auto [cpu, lanes] = GetParam();
  const CpuTarget level = *FindCpuTarget(cpu);
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>("every_op", context);
  if (level.traits.half_conversions) SetHalfConversions(*module);
  int count = 0;
  for (const OpInfo& info : AllOps()) {
    if (!CanEmit(info.kind, DType::kF16)) continue;
    for (DType to : kAllTypes) {
      if (info.kind == OpKind::kBitcast || (info.kind != OpKind::kCast && to != DType::kBool)) continue;
      math::EmitOpLoop(*module, EmitTarget::Of(level.traits), math::UseOf(info.kind, DType::kF16, to), lanes,
                       "f" + std::to_string(count++));
    }
  }
  auto machine = MakeTargetMachine(level);
  ASSERT_TRUE(machine.ok());
  ModuleText text;
  ASSERT_TRUE(CompileModule(std::move(module), **machine, &text).ok());
  int conversions = 0;
  for (absl::string_view line : absl::StrSplit(text.ir, '\n')) {
    if (!absl::StrContains(line, " half ") && !absl::StrContains(line, "x half>")) continue;
    const bool converts = absl::StrContains(line, "fpext") || absl::StrContains(line, "fptrunc");
    EXPECT_TRUE(converts || absl::StrContains(line, "bitcast") || absl::StrContains(line, "load") ||
                absl::StrContains(line, "store"))
        << line;
    conversions += converts;
  }
  EXPECT_EQ(conversions > 0, level.traits.half_conversions);
}

INSTANTIATE_TEST_SUITE_P(ScalarOps, EveryOp,
                         testing::Values(Level{"x86-64-v2", 1}, Level{"x86-64-v2", 4}, Level{"x86-64-v3", 1},
                                         Level{"x86-64-v3", 8}, Level{"x86-64-v4", 1}, Level{"x86-64-v4", 16}),
                         [](const auto& info) {
                           return "V" + std::string(1, info.param.cpu[8]) + "Lanes" + std::to_string(info.param.lanes);
                         });

}  // namespace
}  // namespace tailor
