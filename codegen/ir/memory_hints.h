// Emits what speeds up memory accesses without changing their results.
#ifndef TAILOR_CODEGEN_IR_MEMORY_HINTS_H_
#define TAILOR_CODEGEN_IR_MEMORY_HINTS_H_

#include <cstdint>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

namespace tailor {

inline constexpr int64_t kLineBytes = 64;  // of a cache line

enum class PrefetchInto { kBeyondL1 = 2, kAllLevels = 3 };  // the localities of llvm.prefetch

// Prefetches the cache line of `address`. Any address is legal.
inline void EmitPrefetchLine(llvm::IRBuilderBase& b, llvm::Value* address,
                             PrefetchInto levels = PrefetchInto::kAllLevels) {
  constexpr int kRead = 0, kData = 1;
  b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                    {address, b.getInt32(kRead), b.getInt32(static_cast<int>(levels)), b.getInt32(kData)});
}

// Keeps LLVM from moving reads across this point and from reusing earlier ones, where there are no registers to hold
// them. Emits no instruction.
inline void EmitOrderOfReads(llvm::IRBuilderBase& b) {
  b.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent, llvm::SyncScope::SingleThread);
}

}  // namespace tailor

#endif  // TAILOR_CODEGEN_IR_MEMORY_HINTS_H_
