#include "tests/emulator/instrument_accesses.h"

#include <vector>

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/Local.h"
#include "tests/emulator/launch.h"

namespace tailor::simt {
namespace {

using Kind = AccessChecker::Kind;
using llvm::Value;
using Check = void (*)(const void* address, uint64_t bytes, uint64_t align);

struct Access {
  llvm::Instruction* at;
  Value* address;
  Value* bytes;
  llvm::Align align;
  Kind kind;
  bool orders = false;  // like a fence
};

template <Kind kind>
void CheckShared(const void* address, uint64_t bytes, uint64_t align) {
  AccessChecker& checker = *RunningChecker();
  checker.Shared(address, bytes, kind);
  checker.Aligned(address, align);
}
template <Kind kind>
void CheckGlobal(const void* address, uint64_t bytes, uint64_t align) {
  AccessChecker& checker = *RunningChecker();
  checker.Global(address, bytes, kind);
  checker.Aligned(address, align);
}
template <Kind kind>
void CheckGeneric(const void* address, uint64_t bytes, uint64_t align) {
  AccessChecker& checker = *RunningChecker();
  checker.Generic(address, bytes, kind);
  checker.Aligned(address, align);
}
void CheckAlignment(const void* address, uint64_t align) { RunningChecker()->Aligned(address, align); }
void Synchronize(const void* address, uint64_t orders) { RunningChecker()->Synchronize(address, orders != 0); }

template <Kind kind>
Check CheckIn(unsigned space) {
  if (space == device::kSharedSpace) return CheckShared<kind>;
  return space == device::kGlobalSpace ? CheckGlobal<kind> : CheckGeneric<kind>;
}

Check CheckOf(Kind kind, unsigned space) {
  switch (kind) {
    case Kind::kRead:
      return CheckIn<Kind::kRead>(space);
    case Kind::kWrite:
      return CheckIn<Kind::kWrite>(space);
    case Kind::kAtomicRead:
      return CheckIn<Kind::kAtomicRead>(space);
    case Kind::kAtomicWrite:
      return CheckIn<Kind::kAtomicWrite>(space);
  }
  return nullptr;
}

bool IsAtomic(Kind kind) { return kind == Kind::kAtomicRead || kind == Kind::kAtomicWrite; }

Value* BytesOf(llvm::Instruction& at, llvm::Type* type) {
  const uint64_t bytes = at.getModule()->getDataLayout().getTypeStoreSize(type);
  return llvm::ConstantInt::get(llvm::Type::getInt64Ty(at.getContext()), bytes);
}

bool Orders(llvm::AtomicOrdering ordering) { return llvm::isStrongerThanMonotonic(ordering); }

void CollectIntrinsic(llvm::IntrinsicInst& call, std::vector<Access>& accesses) {
  if (auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(&call)) {
    accesses.push_back(
        {&call, transfer->getRawSource(), transfer->getLength(), transfer->getSourceAlign().valueOrOne(), Kind::kRead});
  }
  if (auto* written = llvm::dyn_cast<llvm::MemIntrinsic>(&call)) {
    accesses.push_back(
        {&call, written->getRawDest(), written->getLength(), written->getDestAlign().valueOrOne(), Kind::kWrite});
  }
}

void Collect(llvm::Instruction& at, std::vector<Access>& accesses) {
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&at)) {
    const bool atomic = load->isAtomic() || load->isVolatile();
    accesses.push_back({&at, load->getPointerOperand(), BytesOf(at, load->getType()), load->getAlign(),
                        atomic ? Kind::kAtomicRead : Kind::kRead, Orders(load->getOrdering())});
  } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&at)) {
    const bool atomic = store->isAtomic() || store->isVolatile();
    accesses.push_back({&at, store->getPointerOperand(), BytesOf(at, store->getValueOperand()->getType()),
                        store->getAlign(), atomic ? Kind::kAtomicWrite : Kind::kWrite, Orders(store->getOrdering())});
  } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&at)) {
    accesses.push_back({&at, update->getPointerOperand(), BytesOf(at, update->getType()), update->getAlign(),
                        Kind::kAtomicWrite, Orders(update->getOrdering())});
  } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&at)) {
    accesses.push_back({&at, exchange->getPointerOperand(), BytesOf(at, exchange->getNewValOperand()->getType()),
                        exchange->getAlign(), Kind::kAtomicWrite, Orders(exchange->getSuccessOrdering())});
  } else if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&at)) {
    CollectIntrinsic(*call, accesses);
  }
}

// Whether the memory is private to the thread, or a constant of the module.
bool IsPrivate(Value* address) {
  llvm::SmallVector<const Value*> objects;
  llvm::getUnderlyingObjects(address, objects);
  return llvm::all_of(objects, [](const Value* v) { return llvm::isa<llvm::AllocaInst, llvm::GlobalVariable>(v); });
}

template <class Function>
void EmitCall(llvm::IRBuilderBase& b, Function* function, std::vector<Value*> operands) {
  std::vector<llvm::Type*> types;
  for (Value* operand : operands) types.push_back(operand->getType());
  Value* callee = b.CreateIntToPtr(b.getInt64(reinterpret_cast<uint64_t>(function)), b.getPtrTy());
  b.CreateCall(llvm::FunctionType::get(b.getVoidTy(), types, false), callee, operands);
}

void Instrument(const Access& access, bool checks) {
  llvm::IRBuilder<> b(access.at);
  const bool is_private = IsPrivate(access.address);
  if (IsAtomic(access.kind) && !is_private) EmitCall(b, Spin, {});
  if (!checks) return;
  const unsigned space = access.address->getType()->getPointerAddressSpace();
  Value* address = b.CreateAddrSpaceCast(access.address, b.getPtrTy());
  if (!is_private) {
    if (IsAtomic(access.kind) && space != device::kSharedSpace) {
      EmitCall(b, Synchronize, {address, b.getInt64(access.orders)});
    }
    EmitCall(b, CheckOf(access.kind, space),
             {address, b.CreateZExtOrTrunc(access.bytes, b.getInt64Ty()), b.getInt64(access.align.value())});
  } else if (access.align > llvm::getKnownAlignment(access.address, access.at->getDataLayout())) {
    EmitCall(b, CheckAlignment, {address, b.getInt64(access.align.value())});
  }
}

}  // namespace

void InstrumentAccesses(llvm::Module& module, bool checks) {
  std::vector<Access> accesses;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& at : llvm::instructions(function)) Collect(at, accesses);
  }
  for (const Access& access : accesses) Instrument(access, checks);
}

}  // namespace tailor::simt
