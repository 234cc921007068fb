// Emits prefetch instructions.
#ifndef TAILOR_CODEGEN_IR_FETCH_LINE_H_
#define TAILOR_CODEGEN_IR_FETCH_LINE_H_

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

namespace tailor {

// Prefetches the cache line of `address` into all cache levels. Any address is legal.
inline void EmitPrefetchLine(llvm::IRBuilderBase& b, llvm::Value* address) {
  constexpr int kRead = 0, kAllLevels = 3, kData = 1;
  b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                    {address, b.getInt32(kRead), b.getInt32(kAllLevels), b.getInt32(kData)});
}

}  // namespace tailor

#endif  // TAILOR_CODEGEN_IR_FETCH_LINE_H_
