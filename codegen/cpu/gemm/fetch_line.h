// Asking for memory before it is needed.
#ifndef TAILOR_CODEGEN_CPU_GEMM_FETCH_LINE_H_
#define TAILOR_CODEGEN_CPU_GEMM_FETCH_LINE_H_

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"

namespace tailor::gemm {

// Asks for the cache line of `address`, which may lie anywhere, in all levels.
inline void EmitFetchLine(llvm::IRBuilderBase& b, llvm::Value* address) {
  constexpr int kRead = 0, kAllLevels = 3, kData = 1;
  b.CreateIntrinsic(llvm::Intrinsic::prefetch, {b.getPtrTy()},
                    {address, b.getInt32(kRead), b.getInt32(kAllLevels), b.getInt32(kData)});
}

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_FETCH_LINE_H_
