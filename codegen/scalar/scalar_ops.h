// Emits every elementwise op and memory conversion, for any lane count and target.
//
// Register form of a value: bool is i1; integers have their LLVM type; f32 and f64 are themselves; f16 and bf16 are f32
// values already rounded to the narrow type. With lanes > 1 it is a fixed vector of these. Semantics are those of
// docs/ops.md: integers wrap, x/0 = 0, INT_MIN/-1 = INT_MIN, max and min propagate NaN, float-to-int conversions
// saturate with NaN to 0, comparisons are IEEE. Nothing traps and no function is called: transcendental functions are
// polynomials in IR.
#ifndef TAILOR_CODEGEN_SCALAR_SCALAR_OPS_H_
#define TAILOR_CODEGEN_SCALAR_SCALAR_OPS_H_

#include "codegen/ir/emit_target.h"
#include "graph/dtype.h"
#include "graph/ops.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor {

llvm::Type* RegisterType(llvm::LLVMContext& context, DType dtype, int lanes);
llvm::Type* MemoryType(llvm::LLVMContext& context, DType dtype, int lanes);  // bool is i8, f16/bf16 are i16

// Memory form <-> register form, same lanes.
llvm::Value* FromMemory(llvm::IRBuilderBase& b, DType dtype, llvm::Value* value);
llvm::Value* ToMemory(llvm::IRBuilderBase& b, DType dtype, llvm::Value* value);

// The constant `bits` of `dtype` (memory bits, zero-extended) as a register value.
llvm::Value* EmitLiteral(llvm::IRBuilderBase& b, DType dtype, uint64_t bits, int lanes);

// Whether `op` is elementwise and has a lowering for operands of dtype `operand`: true for all dtypes that its dtype
// rule admits.
bool CanEmit(OpKind op, DType operand);

// Emits `op`. `operand`: dtype of the first data operand (for select: of on_true); `result`: dtype of the result. All
// arguments have the same lane count. Returns the register form.
llvm::Value* EmitScalarOp(llvm::IRBuilderBase& b, const EmitTarget& target, OpKind op, DType operand, DType result,
                          llvm::ArrayRef<llvm::Value*> args);

// The neutral element of a reduction (kAdd: 0, kMul: 1, kMax: lowest or -inf, kMin) as a register value.
llvm::Value* EmitNeutral(llvm::IRBuilderBase& b, OpKind combiner, DType dtype, int lanes);
// Combines all lanes of `value` pairwise by halves, in a fixed order.
llvm::Value* EmitLaneReduction(llvm::IRBuilderBase& b, const EmitTarget& target, OpKind combiner, DType dtype,
                               llvm::Value* value);
llvm::Value* EmitLaneReduction(llvm::IRBuilderBase& b, llvm::Value* value,
                               llvm::function_ref<llvm::Value*(llvm::Value*, llvm::Value*)> combine);
// Inclusive scan: combines each lane of `value` with all earlier lanes.
llvm::Value* EmitLaneScan(llvm::IRBuilderBase& b, const EmitTarget& target, OpKind combiner, DType dtype,
                          llvm::Value* value);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_SCALAR_SCALAR_OPS_H_
