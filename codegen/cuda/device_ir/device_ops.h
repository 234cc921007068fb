// Emits the device intrinsics of device_op_table.h, which says what each does.
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
  const char* name;     // behind kPrefix
  const char* results;  // letters of device_op_table.h
  const char* parameters;
  const char* target;  // the first that has it
};

// All rows of the table, by Op.
llvm::ArrayRef<OpSignature> OpSignatures();

// The type of a letter.
llvm::Type* TypeOf(llvm::LLVMContext& context, char letter);

// Emits one call where `b` stands. Several results come as one struct, no result as a call of no value.
llvm::Value* EmitOp(llvm::IRBuilderBase& b, Op op, llvm::ArrayRef<llvm::Value*> operands);

}  // namespace tailor::device

#endif  // TAILOR_CODEGEN_CUDA_DEVICE_IR_DEVICE_OPS_H_
