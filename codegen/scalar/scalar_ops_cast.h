// Conversions between register forms: rounding to narrow floats, casts between dtypes. On CPUs, narrow floats use
// integer arithmetic, since LLVM's conversions become library calls on targets without instructions for them. GPU
// kernels use device intrinsics.
#ifndef TAILOR_CODEGEN_SCALAR_SCALAR_OPS_CAST_H_
#define TAILOR_CODEGEN_SCALAR_SCALAR_OPS_CAST_H_

#include "graph/dtype.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace tailor {

// Allows f16 conversion instructions for code emitted into `module` from now on: for CPUs with F16C.
void SetHalfConversions(llvm::Module& module);

// Rounds f32 lanes to the nearest value of `dtype`, ties to even; the identity unless f16 or bf16.
llvm::Value* RoundToDType(llvm::IRBuilderBase& b, DType dtype, llvm::Value* value);

// The i16 of the nearest f16, ties to even, and back (exact).
llvm::Value* F32ToF16Bits(llvm::IRBuilderBase& b, llvm::Value* value);
llvm::Value* F16BitsToF32(llvm::IRBuilderBase& b, llvm::Value* bits);

// The op `cast`: one rounding; floats to integers saturate, with NaN to 0; integers wrap; bool is `!= 0`.
llvm::Value* EmitCast(llvm::IRBuilderBase& b, DType from, DType to, llvm::Value* value);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_SCALAR_SCALAR_OPS_CAST_H_
