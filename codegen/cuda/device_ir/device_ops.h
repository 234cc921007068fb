// Emits the device intrinsics of device_op_table.h, which documents each.
#ifndef TAILOR_CODEGEN_CUDA_DEVICE_IR_DEVICE_OPS_H_
#define TAILOR_CODEGEN_CUDA_DEVICE_IR_DEVICE_OPS_H_

#include "codegen/cuda/device_ir/device_op_table.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::device {

enum class Op {
#define TAILOR_ROW(id, ...) k##id,
  TAILOR_DEVICE_OPS(TAILOR_ROW)
#undef TAILOR_ROW
};

struct OpSignature {
  const char* name;     // after kPrefix
  const char* results;  // letters of device_op_table.h
  const char* parameters;
  const char* target;  // the first architecture that has it
};

// All rows of the table, by Op.
llvm::ArrayRef<OpSignature> OpSignatures();

// The type of a letter.
llvm::Type* TypeOf(llvm::LLVMContext& context, char letter);

// Emits one call where `b` stands. Several results are one struct; without results the call is void.
llvm::Value* EmitOp(llvm::IRBuilderBase& b, Op op, llvm::ArrayRef<llvm::Value*> operands);
// The index of the thread, computed where `b` stands: what depends on it takes no registers before.
llvm::Value* EmitThreadIdHere(llvm::IRBuilderBase& b);

}  // namespace tailor::device

#endif  // TAILOR_CODEGEN_CUDA_DEVICE_IR_DEVICE_OPS_H_
