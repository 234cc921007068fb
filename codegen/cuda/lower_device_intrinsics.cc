#include "codegen/cuda/lower_device_intrinsics.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/device_intrinsics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace tailor {
namespace {

using llvm::Value;
using llvm::Intrinsic::ID;

constexpr std::pair<const char*, ID> kRegisters[] = {
    {"thread_id", llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x},
    {"block_dim", llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x},
    {"block_id", llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x},
    {"grid_dim", llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x},
};

Value* ShuffleWord(llvm::IRBuilderBase& b, Value* word, Value* mask) {
  // All 32 lanes take part; the last operand says that the whole warp is one segment.
  return b.CreateIntrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {}, {b.getInt32(-1), word, mask, b.getInt32(31)},
                           nullptr, "shuffled");
}

// Values up to 32 bits travel as one word, 64-bit ones as two.
Value* LowerShuffle(llvm::IRBuilderBase& b, Value* value, Value* mask) {
  llvm::Type* type = value->getType();
  const unsigned width = type->getScalarSizeInBits();
  Value* bits = b.CreateBitCast(value, b.getIntNTy(width), "shuffle.bits");
  Value* result = nullptr;
  if (width <= 32) {
    Value* word = ShuffleWord(b, b.CreateZExt(bits, b.getInt32Ty(), "shuffle.word"), mask);
    result = b.CreateTrunc(word, bits->getType(), "shuffle.result");
  } else {
    Value* low = ShuffleWord(b, b.CreateTrunc(bits, b.getInt32Ty(), "shuffle.low"), mask);
    Value* high = ShuffleWord(b, b.CreateTrunc(b.CreateLShr(bits, 32), b.getInt32Ty(), "shuffle.high"), mask);
    Value* high_bits = b.CreateShl(b.CreateZExt(high, b.getInt64Ty()), 32, "shuffle.high_bits");
    result = b.CreateOr(high_bits, b.CreateZExt(low, b.getInt64Ty(), "shuffle.low_bits"), "shuffle.result");
  }
  return b.CreateBitCast(result, type, "shuffle");
}

llvm::GlobalVariable* DynamicSharedMemory(llvm::Module& module) {
  constexpr char kName[] = "tailor_shared";
  if (llvm::GlobalVariable* known = module.getGlobalVariable(kName)) return known;
  auto* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), 0);
  auto* shared = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::ExternalLinkage, nullptr, kName,
                                          nullptr, llvm::GlobalValue::NotThreadLocal, device::kSharedSpace);
  shared->setAlignment(llvm::Align(16));
  return shared;
}

// What `call` becomes; nullptr for a name that no one knows. A barrier becomes a call of no value.
Value* Lower(llvm::IRBuilderBase& b, llvm::CallInst& call, llvm::StringRef name) {
  for (const auto& [register_name, id] : kRegisters) {
    if (name == register_name) return b.CreateIntrinsic(id, {}, {}, nullptr, name);
  }
  if (name == "barrier") return b.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {});
  if (name == "shared_memory") return DynamicSharedMemory(*call.getModule());
  if (name.starts_with("shuffle_xor.")) return LowerShuffle(b, call.getArgOperand(0), call.getArgOperand(1));
  return nullptr;
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
  return absl::OkStatus();
}

}  // namespace tailor
