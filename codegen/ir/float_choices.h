// Selects between floats, protected from LLVM's InstCombine.
//
// InstCombine of LLVM 19 folds `select (fcmp ...)` chains over fabs and clamps into forms that lose NaN
// (docs/decisions/max-and-nan.md). So until those passes are done, max and min stay llvm.maximum and llvm.minimum, and
// conditions of float selects are calls of a function without a body. LowerFloatChoices then emits the comparisons and
// selects that instruction selection maps to native instructions.
#ifndef TAILOR_CODEGEN_IR_FLOAT_CHOICES_H_
#define TAILOR_CODEGEN_IR_FLOAT_CHOICES_H_

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace tailor {

// Name prefix of the functions that EmitOpaque calls.
inline constexpr char kOpaqueCondition[] = "tailor.condition.";

// `condition` (i1 or a fixed vector of i1), opaque to all passes before LowerFloatChoices.
llvm::Value* EmitOpaque(llvm::IRBuilderBase& b, llvm::Value* condition);

enum class Extremes { kAll, kDoubles };

// Unwraps hidden conditions, and replaces llvm.maximum and llvm.minimum (with kDoubles only those of f64) by
// comparisons and selects. The result is NaN if an operand is. For zeros of different sign: with a constant zero the
// one that IEEE 754 prescribes, else the second operand.
void LowerFloatChoices(llvm::Module& module, Extremes extremes);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_IR_FLOAT_CHOICES_H_
