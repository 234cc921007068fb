#include "codegen/scalar/narrow_pairs.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

namespace tailor {
namespace {

using llvm::Value;

constexpr uint32_t kHighHalf = 0xffff0000;
constexpr char kF16Value[] = "tailor.device.f16_value";

unsigned LanesOf(llvm::Type* type) { return llvm::cast<llvm::FixedVectorType>(type)->getNumElements(); }

// Half `half` of a word as f32.
Value* EmitHalf(llvm::IRBuilderBase& b, DType dtype, Value* word, int half) {
  if (dtype == DType::kF16) {
    return EmitDeviceCall(b, kF16Value, b.getFloatTy(), {half == 0 ? word : b.CreateLShr(word, 16, "pair.high")});
  }
  Value* bits = half == 0 ? b.CreateShl(word, 16, "pair.low") : b.CreateAnd(word, kHighHalf, "pair.high");
  return b.CreateBitCast(bits, b.getFloatTy(), "pair.lane");
}

// The word of which `lane` is half `half`, or null.
Value* WordOf(DType dtype, Value* lane, int half) {
  using namespace llvm::PatternMatch;  // NOLINT: matchers
  Value* word = nullptr;
  if (dtype == DType::kF16) {
    const auto* call = llvm::dyn_cast_or_null<llvm::CallInst>(lane);
    if (call == nullptr || call->getCalledFunction() == nullptr || call->getCalledFunction()->getName() != kF16Value) {
      return nullptr;
    }
    Value* bits = call->getArgOperand(0);
    if (half == 0) return bits;
    return match(bits, m_LShr(m_Value(word), m_SpecificInt(16))) ? word : nullptr;
  }
  if (lane == nullptr || !lane->getType()->isFloatTy()) return nullptr;
  const bool found = half == 0 ? match(lane, m_BitCast(m_Shl(m_Value(word), m_SpecificInt(16))))
                               : match(lane, m_BitCast(m_And(m_Value(word), m_SpecificInt(kHighHalf))));
  return found ? word : nullptr;
}

Value* LaneOf(llvm::IRBuilderBase& b, Value* lanes, unsigned i) {
  Value* known = llvm::findScalarElement(lanes, i);
  return known != nullptr ? known : b.CreateExtractElement(lanes, uint64_t{i}, "lane");
}

// The word of two constants, or null.
Value* ConstantPair(llvm::IRBuilderBase& b, DType dtype, Value* low, Value* high) {
  const auto bits = [&](const llvm::ConstantFP* constant) {
    llvm::APFloat value = constant->getValueAPF();
    bool loses_info = false;
    value.convert(dtype == DType::kF16 ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat(),
                  llvm::APFloat::rmNearestTiesToEven, &loses_info);
    return static_cast<uint32_t>(value.bitcastToAPInt().getZExtValue());
  };
  const auto *first = llvm::dyn_cast<llvm::ConstantFP>(low), *second = llvm::dyn_cast<llvm::ConstantFP>(high);
  return first == nullptr || second == nullptr ? nullptr : b.getInt32(bits(first) | bits(second) << 16);
}

}  // namespace

bool IsGpuKernel(llvm::IRBuilderBase& b) {
  return b.GetInsertBlock()->getParent()->getCallingConv() == llvm::CallingConv::PTX_Kernel;
}

Value* EmitDeviceCall(llvm::IRBuilderBase& b, const char* name, llvm::Type* result, llvm::ArrayRef<Value*> operands) {
  llvm::SmallVector<llvm::Type*> types;
  for (Value* operand : operands) types.push_back(operand->getType());
  auto* type = llvm::FunctionType::get(result, types, false);
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  auto* function = llvm::cast<llvm::Function>(module.getOrInsertFunction(name, type).getCallee());
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();
  function->addFnAttr(llvm::Attribute::WillReturn);
  return b.CreateCall(function, operands, "narrow");
}

bool ArePairs(llvm::IRBuilderBase& b, DType dtype, llvm::Type* lanes) {
  return (dtype == DType::kF16 || dtype == DType::kBF16) && lanes->isVectorTy() && LanesOf(lanes) % 2 == 0 &&
         IsGpuKernel(b);
}

std::vector<Value*> EmitPairs(llvm::IRBuilderBase& b, DType dtype, Value* lanes) {
  const char* pack = dtype == DType::kF16 ? "tailor.device.pack_f16" : "tailor.device.pack_bf16";
  std::vector<Value*> pairs;
  for (unsigned i = 0; i < LanesOf(lanes->getType()); i += 2) {
    Value *low = LaneOf(b, lanes, i), *high = LaneOf(b, lanes, i + 1);
    Value* word = WordOf(dtype, low, 0);
    if (word == nullptr || word != WordOf(dtype, high, 1)) word = ConstantPair(b, dtype, low, high);
    pairs.push_back(word != nullptr ? word : EmitDeviceCall(b, pack, b.getInt32Ty(), {low, high}));
  }
  return pairs;
}

Value* EmitLanes(llvm::IRBuilderBase& b, DType dtype, llvm::ArrayRef<Value*> pairs) {
  Value* lanes = llvm::PoisonValue::get(llvm::FixedVectorType::get(b.getFloatTy(), 2 * pairs.size()));
  for (size_t i = 0; i < 2 * pairs.size(); ++i) {
    lanes = b.CreateInsertElement(lanes, EmitHalf(b, dtype, pairs[i / 2], i % 2), uint64_t{i}, "pair.lanes");
  }
  return lanes;
}

std::vector<Value*> PairsInMemory(llvm::IRBuilderBase& b, Value* bits) {
  const unsigned pairs = LanesOf(bits->getType()) / 2;
  Value* words = b.CreateBitCast(bits, llvm::FixedVectorType::get(b.getInt32Ty(), pairs), "pairs");
  std::vector<Value*> all;
  for (unsigned i = 0; i < pairs; ++i) all.push_back(b.CreateExtractElement(words, uint64_t{i}, "pair"));
  return all;
}

Value* MemoryOfPairs(llvm::IRBuilderBase& b, llvm::ArrayRef<Value*> pairs) {
  Value* words = llvm::PoisonValue::get(llvm::FixedVectorType::get(b.getInt32Ty(), pairs.size()));
  for (size_t i = 0; i < pairs.size(); ++i) words = b.CreateInsertElement(words, pairs[i], uint64_t{i}, "pairs");
  return b.CreateBitCast(words, llvm::FixedVectorType::get(b.getInt16Ty(), 2 * pairs.size()), "pairs.bits");
}

Value* EmitPairOp(llvm::IRBuilderBase& b, PairOp op, DType dtype, Value* x, Value* y) {
  constexpr const char* kF16[] = {"tailor.device.add_f16x2", "tailor.device.sub_f16x2", "tailor.device.mul_f16x2"};
  constexpr const char* kBF16[] = {"tailor.device.add_bf16x2", "tailor.device.sub_bf16x2", "tailor.device.mul_bf16x2"};
  const char* name = (dtype == DType::kF16 ? kF16 : kBF16)[static_cast<int>(op)];
  std::vector<Value*> pairs = EmitPairs(b, dtype, x);
  const std::vector<Value*> others = EmitPairs(b, dtype, y);
  for (size_t i = 0; i < pairs.size(); ++i) {
    pairs[i] = EmitDeviceCall(b, name, b.getInt32Ty(), {pairs[i], others[i]});
  }
  return EmitLanes(b, dtype, pairs);
}

}  // namespace tailor
