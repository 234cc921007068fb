#include "codegen/cuda/device_ir/lower_device_intrinsics.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/device_ir/device_op_table.h"
#include "codegen/cuda/device_ir/nvptx_sync.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace tailor::cuda {
namespace {

using llvm::Value;
using llvm::Intrinsic::ID;

constexpr std::pair<const char*, ID> kRegisters[] = {
    {"thread_id", llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x},
    {"block_dim", llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x},
    {"block_id", llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x},
    {"grid_dim", llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x},
};

// Suffixes after "shuffle_" in the names of shuffles.
constexpr std::pair<const char*, ID> kShuffles[] = {
    {"xor", llvm::Intrinsic::nvvm_shfl_sync_bfly_i32},
    {"down", llvm::Intrinsic::nvvm_shfl_sync_down_i32},
    {"idx", llvm::Intrinsic::nvvm_shfl_sync_idx_i32},
};

Value* ShuffleWord(llvm::IRBuilderBase& b, ID id, Value* word, Value* lane) {
  // All 32 lanes take part; the last operand makes the whole warp one segment.
  return b.CreateIntrinsic(id, {}, {b.getInt32(-1), word, lane, b.getInt32(31)}, nullptr, "shuffled");
}

// Values up to 32 bits are shuffled as one word, 64-bit values as two.
Value* LowerShuffle(llvm::IRBuilderBase& b, ID id, Value* value, Value* lane) {
  llvm::Type* type = value->getType();
  const unsigned width = type->getScalarSizeInBits();
  Value* bits = b.CreateBitCast(value, b.getIntNTy(width), "shuffle.bits");
  Value* result = nullptr;
  if (width <= 32) {
    Value* word = ShuffleWord(b, id, b.CreateZExt(bits, b.getInt32Ty(), "shuffle.word"), lane);
    result = b.CreateTrunc(word, bits->getType(), "shuffle.result");
  } else {
    Value* low = ShuffleWord(b, id, b.CreateTrunc(bits, b.getInt32Ty(), "shuffle.low"), lane);
    Value* high = ShuffleWord(b, id, b.CreateTrunc(b.CreateLShr(bits, 32), b.getInt32Ty(), "shuffle.high"), lane);
    Value* high_bits = b.CreateShl(b.CreateZExt(high, b.getInt64Ty()), 32, "shuffle.high_bits");
    result = b.CreateOr(high_bits, b.CreateZExt(low, b.getInt64Ty(), "shuffle.low_bits"), "shuffle.result");
  }
  return b.CreateBitCast(result, type, "shuffle");
}

// A form of device_op_table.h: emits the instruction for `operands` and returns the intrinsic's results.
using Form = std::function<Value*(llvm::IRBuilderBase& b, std::vector<Value*> operands)>;

// The NVPTX intrinsic with the same operands, some bitcast to other types.
Form Instruction(ID id) {
  return [id](llvm::IRBuilderBase& b, std::vector<Value*> operands) {
    llvm::SmallVector<llvm::Type*> overloads;
    if (llvm::Intrinsic::isOverloaded(id)) overloads.push_back(operands[0]->getType());
    llvm::Function* function = llvm::Intrinsic::getDeclaration(b.GetInsertBlock()->getModule(), id, overloads);
    for (size_t i = 0; i < operands.size(); ++i) {
      operands[i] = b.CreateBitCast(operands[i], function->getFunctionType()->getParamType(i));
    }
    return b.CreateCall(function, operands);
  };
}

// A word of two 16-bit values; the instruction takes the upper one first.
Form Packed(ID id) {
  return [id](llvm::IRBuilderBase& b, std::vector<Value*> operands) {
    return b.CreateBitCast(Instruction(id)(b, {operands[1], operands[0]}), b.getInt32Ty(), "packed");
  };
}

// The same for one value, in the lower half.
Form PackedAlone(ID id) {
  return [id](llvm::IRBuilderBase& b, std::vector<Value*> operands) {
    return Packed(id)(b, {operands[0], llvm::ConstantFP::getZero(b.getFloatTy())});
  };
}

// x * y + z on words of two 16-bit floats, by the fused multiply-add of sm_80: of its operands one is a constant.
Value* EmitPairFma(llvm::IRBuilderBase& b, ID id, Value* x, Value* y, Value* z) {
  llvm::Function* function = llvm::Intrinsic::getDeclaration(b.GetInsertBlock()->getModule(), id);
  llvm::Type* pair = function->getReturnType();
  const auto as_pair = [&](Value* value) { return b.CreateBitCast(value, pair); };
  return b.CreateBitCast(b.CreateCall(function, {as_pair(x), as_pair(y), as_pair(z)}), b.getInt32Ty(), "pair");
}

llvm::Constant* PairOf(llvm::IRBuilderBase& b, ID id, double number) {
  const bool is_f16 = id == llvm::Intrinsic::nvvm_fma_rn_f16x2;
  llvm::Type* half = is_f16 ? b.getHalfTy() : b.getBFloatTy();
  return llvm::ConstantFP::get(llvm::FixedVectorType::get(half, 2), number);
}

Form PairAdd(ID id) {
  return [id](llvm::IRBuilderBase& b, const std::vector<Value*>& operands) {
    return EmitPairFma(b, id, operands[0], PairOf(b, id, 1), operands[1]);
  };
}

Form PairSub(ID id) {
  return [id](llvm::IRBuilderBase& b, const std::vector<Value*>& operands) {
    return EmitPairFma(b, id, operands[1], PairOf(b, id, -1), operands[0]);
  };
}

Form PairMul(ID id) {
  return [id](llvm::IRBuilderBase& b, const std::vector<Value*>& operands) {
    return EmitPairFma(b, id, operands[0], operands[1], PairOf(b, id, -0.0));
  };
}

Form F16Value() {
  return [](llvm::IRBuilderBase& b, std::vector<Value*> operands) {
    Value* half = b.CreateBitCast(b.CreateTrunc(operands[0], b.getInt16Ty()), b.getHalfTy(), "half");
    return b.CreateFPExt(half, b.getFloatTy(), "half.value");
  };
}

// The NVPTX intrinsic with the mask of all lanes as additional first operand.
Form AllLanes(ID id) {
  return [id](llvm::IRBuilderBase& b, std::vector<Value*> operands) {
    operands.insert(operands.begin(), b.getInt32(-1));
    return Instruction(id)(b, std::move(operands));
  };
}

// "=f,r,l": registers of the results, then of the operands.
std::string Constraints(llvm::Type* result, const std::vector<Value*>& operands, bool in_place) {
  auto letter = [](const llvm::Type* type) { return type->isFloatTy() ? "f" : type->isIntegerTy(64) ? "l" : "r"; };
  std::vector<std::string> all;
  const auto* many = llvm::dyn_cast<llvm::StructType>(result);
  const unsigned results = many != nullptr ? many->getNumElements() : result->isVoidTy() ? 0 : 1;
  for (unsigned i = 0; i < results; ++i) {
    all.push_back(std::string("=") + letter(many != nullptr ? many->getElementType(i) : result));
  }
  for (unsigned i = 0; i < operands.size(); ++i) {
    const bool constant = llvm::isa<llvm::ConstantInt>(operands[i]);
    all.push_back(in_place && i < results ? std::to_string(i) : constant ? "n" : letter(operands[i]->getType()));
  }
  all.push_back("~{memory}");
  return llvm::join(all, ",");
}

// Inline PTX; `$i` is the i-th of results and operands. Addresses are registers, of 32 bits for shared memory.
Value* InlinePtx(llvm::IRBuilderBase& b, llvm::StringRef text, llvm::Type* result, std::vector<Value*> operands,
                 bool in_place) {
  std::vector<llvm::Type*> types;
  for (Value*& operand : operands) {
    if (operand->getType()->isPointerTy()) {
      const bool shared = operand->getType()->getPointerAddressSpace() == device::kSharedSpace;
      operand = b.CreatePtrToInt(operand, shared ? b.getInt32Ty() : b.getInt64Ty(), "address");
    }
    types.push_back(operand->getType());
  }
  auto* type = llvm::FunctionType::get(result, types, false);
  auto* instruction =
      llvm::InlineAsm::get(type, text, Constraints(result, operands, in_place), /*hasSideEffects=*/true);
  llvm::CallInst* call = b.CreateCall(type, instruction, operands);
  call->setConvergent();
  return call;
}

Form Ptx(std::string text) {
  return [text](llvm::IRBuilderBase& b, std::vector<Value*> operands) {
    return InlinePtx(b, text, b.getVoidTy(), std::move(operands), false);
  };
}

Form PtxWord(std::string text) {
  return [text](llvm::IRBuilderBase& b, std::vector<Value*> operands) {
    return InlinePtx(b, text, b.getInt32Ty(), std::move(operands), false);
  };
}

// An instruction that overwrites its float operands, which are also its results.
Form InPlace(std::string text) {
  return [text](llvm::IRBuilderBase& b, std::vector<Value*> operands) {
    std::vector<llvm::Type*> results;
    for (Value* operand : operands) {
      if (operand->getType()->isFloatTy()) results.push_back(operand->getType());
    }
    return InlinePtx(b, text, llvm::StructType::get(b.getContext(), results), std::move(operands), true);
  };
}

// A wgmma on accumulators $0..., which are read and written, and descriptors of a and b.
Form Wgmma(const std::string& shape, const std::string& type, int transposes_b) {
  const int columns = std::stoi(shape.substr(shape.find('n') + 1));
  const int accumulators = columns / 2;
  std::string text = absl::StrCat("wgmma.mma_async.sync.aligned.", shape, ".f32.", type, ".", type, " {");
  for (int i = 0; i < accumulators; ++i) absl::StrAppend(&text, i == 0 ? "$" : ", $", i);
  absl::StrAppend(&text, "}, $", 2 * accumulators, ", $", 2 * accumulators + 1, ", 1, 1, 1, 0, ", transposes_b, ";");
  return InPlace(text);
}

Form TensorLoad(const std::string& rank, const std::string& coordinates) {
  return Ptx(absl::StrCat("cp.async.bulk.tensor.", rank,
                          ".shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {", coordinates,
                          "}], [$2];"));
}

constexpr char kWaitForPhase[] =
    "{\n\t"
    ".reg .pred complete;\n"
    "waiting:\n\t"
    "mbarrier.try_wait.parity.shared::cta.b64 complete, [$0], $1;\n\t"
    "@!complete bra waiting;\n\t"
    "}";

const Form* FindForm(llvm::StringRef name) {
  using namespace llvm::Intrinsic;  // NOLINT: the table names its members
  static const std::pair<const char*, Form> forms[] = {
#define TAILOR_ROW(id, name, results, parameters, effects, form) {#name, form},
      TAILOR_DEVICE_OPS(TAILOR_ROW)
#undef TAILOR_ROW
  };
  for (const auto& [known, form] : forms) {
    if (name == known) return &form;
  }
  return nullptr;
}

llvm::GlobalVariable* DynamicSharedMemory(llvm::Module& module) {
  constexpr char kName[] = "tailor_shared";
  if (llvm::GlobalVariable* known = module.getGlobalVariable(kName)) return known;
  auto* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), 0);
  auto* shared = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::ExternalLinkage, nullptr, kName,
                                          nullptr, llvm::GlobalValue::NotThreadLocal, device::kSharedSpace);
  shared->setAlignment(llvm::Align(device::kSharedAlignment));
  return shared;
}

// The lowering of `call`; nullptr for an unknown name. A call without value is lowered to a void call.
Value* Lower(llvm::IRBuilderBase& b, llvm::CallInst& call, llvm::StringRef name) {
  for (const auto& [register_name, id] : kRegisters) {
    if (name == register_name) return b.CreateIntrinsic(id, {}, {}, nullptr, name);
  }
  if (name == "barrier") return b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
  if (name == "grid_barrier") return b.CreateCall(GridBarrier(*call.getModule()), {call.getArgOperand(0)});
  if (name == "shared_memory") return DynamicSharedMemory(*call.getModule());
  for (const auto& [kind, id] : kShuffles) {
    llvm::StringRef rest = name;
    if (!rest.consume_front("shuffle_") || !rest.consume_front(kind)) continue;
    return LowerShuffle(b, id, call.getArgOperand(0), call.getArgOperand(1));
  }
  const Form* form = FindForm(name);
  return form == nullptr ? nullptr : (*form)(b, {call.arg_begin(), call.arg_end()});
}

}  // namespace

absl::Status LowerDeviceIntrinsics(llvm::Module& module) {
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    if (!function.getName().starts_with(device::kPrefix)) continue;
    const llvm::StringRef name = function.getName().drop_front(device::kPrefix.size());
    for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
      auto* call = llvm::cast<llvm::CallInst>(user);
      llvm::IRBuilder<> b(call);
      Value* value = Lower(b, *call, name);
      if (value == nullptr) {
        return absl::InternalError(absl::StrCat("no NVPTX form of ", function.getName().str()));
      }
      call->replaceAllUsesWith(value);
      call->eraseFromParent();
    }
    function.eraseFromParent();
  }
  WidenExchanges(module);
  return absl::OkStatus();
}

}  // namespace tailor::cuda
