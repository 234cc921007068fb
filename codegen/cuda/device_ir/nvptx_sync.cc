#include "codegen/cuda/device_ir/nvptx_sync.h"

#include <string>

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/ir/emit_loop.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

namespace tailor::cuda {
namespace {

using llvm::Value;

constexpr uint32_t kGeneration = 1U << 31;

void EmitIntrinsic(llvm::IRBuilderBase& b, llvm::Intrinsic::ID id) { b.CreateIntrinsic(id, {}, {}); }
Value* ReadRegister(llvm::IRBuilderBase& b, llvm::Intrinsic::ID id) { return b.CreateIntrinsic(id, {}, {}); }

// Counts this block, then spins until the generation bit flips.
void EmitGridSync(llvm::IRBuilderBase& b, Value* counter) {
  Value* is_first = b.CreateICmpEQ(ReadRegister(b, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x), b.getInt32(0));
  Value* others = b.CreateSub(ReadRegister(b, llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x), b.getInt32(1), "others");
  Value* rest = b.CreateSub(b.getInt32(kGeneration), others, "rest");
  Value* share = b.CreateSelect(is_first, rest, b.getInt32(1), "share");
  Value* before =
      b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, counter, share, llvm::Align(4), llvm::AtomicOrdering::Monotonic);
  llvm::Function* function = b.GetInsertBlock()->getParent();
  auto* wait = llvm::BasicBlock::Create(b.getContext(), "wait", function);
  auto* met = llvm::BasicBlock::Create(b.getContext(), "met", function);
  b.CreateBr(wait);
  b.SetInsertPoint(wait);
  Value* now = b.CreateAlignedLoad(b.getInt32Ty(), counter, llvm::Align(4), /*isVolatile=*/true, "now");
  Value* flipped = b.CreateAnd(b.CreateXor(before, now), b.getInt32(kGeneration), "flipped");
  b.CreateCondBr(b.CreateICmpNE(flipped, b.getInt32(0)), met, wait);
  b.SetInsertPoint(met);
}

}  // namespace

llvm::Function* GridBarrier(llvm::Module& module) {
  // PTX has no names that are local to a text, and several texts may be joined.
  const std::string name = (module.getName() + "_grid_barrier").str();
  if (llvm::Function* known = module.getFunction(name)) return known;
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> b(context);
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(device::kGlobalSpace)}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  function->setConvergent();
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::AlwaysInline);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  EmitIntrinsic(b, llvm::Intrinsic::nvvm_barrier0);
  Value* thread = ReadRegister(b, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  EmitIf(b, b.CreateICmpEQ(thread, b.getInt32(0)), "leader", [&] {
    EmitIntrinsic(b, llvm::Intrinsic::nvvm_membar_gl);
    EmitGridSync(b, function->getArg(0));
    EmitIntrinsic(b, llvm::Intrinsic::nvvm_membar_gl);
  });
  EmitIntrinsic(b, llvm::Intrinsic::nvvm_barrier0);
  b.CreateRetVoid();
  return function;
}

void WidenExchanges(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction);
      if (exchange == nullptr) continue;
      llvm::IRBuilder<> b(exchange);
      Value* address = b.CreateAddrSpaceCast(exchange->getPointerOperand(), b.getPtrTy(), "exchange.address");
      Value* expected = exchange->getCompareOperand();
      Value* before =
          b.CreateIntrinsic(llvm::Intrinsic::nvvm_atomic_cas_gen_i_sys, {expected->getType(), address->getType()},
                            {address, expected, exchange->getNewValOperand()}, nullptr, "exchange.before");
      Value* result = llvm::PoisonValue::get(exchange->getType());
      result = b.CreateInsertValue(result, before, 0);
      result = b.CreateInsertValue(result, b.CreateICmpEQ(before, expected, "exchanged"), 1);
      exchange->replaceAllUsesWith(result);
      exchange->eraseFromParent();
    }
  }
}

}  // namespace tailor::cuda
