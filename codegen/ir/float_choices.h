// Choices between floats that LLVM's InstCombine leaves alone.
//
// InstCombine of LLVM 19 folds `select (fcmp ...)` chains over fabs and clamps into ones that lose NaN
// (docs/decisions/max-and-nan.md). So max and min stay llvm.maximum and llvm.minimum, and the conditions of selects
// between floats stay calls of a function without a body, until those passes are done. LowerFloatChoices then leaves
// the comparisons and selects of which the back end makes the machine's own instructions.
#ifndef TAILOR_CODEGEN_IR_FLOAT_CHOICES_H_
#define TAILOR_CODEGEN_IR_FLOAT_CHOICES_H_

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace tailor {

// The names of the functions that EmitHidden calls begin so.
inline constexpr char kHiddenCondition[] = "tailor.condition.";

// `condition` (i1 or a fixed vector of it), of which no pass before LowerFloatChoices knows where it comes from.
llvm::Value* EmitHidden(llvm::IRBuilderBase& b, llvm::Value* condition);

enum class Extremes { kAll, kDoubles };

// Replaces hidden conditions by themselves, and llvm.maximum and llvm.minimum (of f64 alone with kDoubles) by
// comparisons and selects. NaN where an operand is; of zeros that differ in sign, one: by a constant zero the one that
// IEEE 754 says, else the second operand.
void LowerFloatChoices(llvm::Module& module, Extremes extremes);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_IR_FLOAT_CHOICES_H_
