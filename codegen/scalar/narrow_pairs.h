// f16 and bf16 lanes of GPU kernels, two in each 32-bit word, as in memory. One instruction rounds, adds or multiplies
// both (docs/decisions/gpu-narrow-floats.md). The register form of lanes stays f32: a word is unpacked where an op
// wants f32, and where no op does, LLVM removes the unpacked lanes.
#ifndef TAILOR_CODEGEN_SCALAR_NARROW_PAIRS_H_
#define TAILOR_CODEGEN_SCALAR_NARROW_PAIRS_H_

#include <vector>

#include "graph/dtype.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor {

// GPU kernels convert narrow floats by device intrinsics (codegen/cuda/device_ir/device_op_table.h).
bool IsGpuKernel(llvm::IRBuilderBase& b);
// Calls device intrinsic `name`, whose results and parameters are 32 bits wide.
llvm::Value* EmitDeviceCall(llvm::IRBuilderBase& b, const char* name, llvm::Type* result,
                            llvm::ArrayRef<llvm::Value*> operands);

// Whether lanes of this type (of f32, or of bits in memory) are pairs: in GPU kernels, an even number of f16 or bf16.
bool ArePairs(llvm::IRBuilderBase& b, DType dtype, llvm::Type* lanes);

// f32 lanes rounded to nearest, ties to even; lanes that EmitLanes unpacked are taken from its words.
std::vector<llvm::Value*> EmitPairs(llvm::IRBuilderBase& b, DType dtype, llvm::Value* lanes);
// The register form.
llvm::Value* EmitLanes(llvm::IRBuilderBase& b, DType dtype, llvm::ArrayRef<llvm::Value*> pairs);

// The memory form, a vector of i16.
std::vector<llvm::Value*> PairsInMemory(llvm::IRBuilderBase& b, llvm::Value* bits);
llvm::Value* MemoryOfPairs(llvm::IRBuilderBase& b, llvm::ArrayRef<llvm::Value*> pairs);

enum class PairOp { kAdd, kSub, kMul };
// The register form of `op` on two register forms, rounded once.
llvm::Value* EmitPairOp(llvm::IRBuilderBase& b, PairOp op, DType dtype, llvm::Value* x, llvm::Value* y);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_SCALAR_NARROW_PAIRS_H_
