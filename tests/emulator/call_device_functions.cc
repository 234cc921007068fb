#include "tests/emulator/call_device_functions.h"

#include <algorithm>

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "tests/emulator/device_functions.h"

namespace tailor::simt {
namespace {

using llvm::Value;

Value* LoadResult(llvm::IRBuilderBase& b, llvm::Type* type, Value* slots, unsigned slot) {
  return b.CreateLoad(type, b.CreateConstGEP1_64(b.getInt64Ty(), slots, slot), "result");
}

// The call's slots are allocas in the entry block, so that loops do not grow the stack.
void Replace(llvm::CallInst* call, DeviceFunction function) {
  llvm::BasicBlock& entry = call->getFunction()->getEntryBlock();
  llvm::IRBuilder<> b(&entry, entry.begin());
  auto* results = llvm::dyn_cast<llvm::StructType>(call->getType());
  const unsigned count = std::max({call->arg_size(), results == nullptr ? 1 : results->getNumElements()});
  Value* slots = b.CreateAlloca(b.getInt64Ty(), b.getInt32(count), "slots");
  b.SetInsertPoint(call);
  for (unsigned i = 0; i < call->arg_size(); ++i) {
    b.CreateStore(call->getArgOperand(i), b.CreateConstGEP1_64(b.getInt64Ty(), slots, i));
  }
  Value* address = b.CreateIntToPtr(b.getInt64(reinterpret_cast<uint64_t>(function)), b.getPtrTy());
  b.CreateCall(llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false), address, {slots});
  if (results != nullptr) {
    Value* all = llvm::PoisonValue::get(results);
    for (unsigned i = 0; i < results->getNumElements(); ++i) {
      all = b.CreateInsertValue(all, LoadResult(b, results->getElementType(i), slots, i), i);
    }
    call->replaceAllUsesWith(all);
  } else if (!call->getType()->isVoidTy()) {
    call->replaceAllUsesWith(LoadResult(b, call->getType(), slots, 0));
  }
  call->eraseFromParent();
}

}  // namespace

std::string CallDeviceFunctions(llvm::Module& module) {
  for (llvm::Function& declared : llvm::make_early_inc_range(module)) {
    llvm::StringRef name = declared.getName();
    if (!name.consume_front(device::kPrefix)) continue;
    DeviceFunction function = FindDeviceFunction(std::string_view(name.split('.').first));
    if (function == nullptr && declared.use_empty()) continue;
    if (function == nullptr) return declared.getName().str();
    for (llvm::User* user : llvm::make_early_inc_range(declared.users())) {
      Replace(llvm::cast<llvm::CallInst>(user), function);
    }
    declared.eraseFromParent();
  }
  return "";
}

}  // namespace tailor::simt
