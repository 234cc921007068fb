// Emits the digits of consecutive numbers: the first by division, later ones by carrying.
#ifndef TAILOR_CODEGEN_IR_DIGITS_H_
#define TAILOR_CODEGEN_IR_DIGITS_H_

#include <vector>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor {

// Indices of a point of a grid, of which `number` counts the points; the last index runs fastest.
class Digits {
 public:
  // Emits the digits of `first` where `b` stands. `dim_sizes`: i64, of the grid; at least 1 unless the digits are
  // unused.
  Digits(llvm::IRBuilderBase& b, llvm::Value* first, std::vector<llvm::Value*> dim_sizes);

  std::vector<llvm::Value*> Emit();  // of the current number
  void EmitAdvance();                // to the next number

  // Emits a loop over the numbers from `first`, the current one, to `end`. They are counted in runs that differ in the
  // last digit alone: what `body` computes from the others is computed once per run. Requires a digit.
  void EmitRuns(llvm::Value* first, llvm::Value* end, llvm::function_ref<void(std::vector<llvm::Value*> digits)> body);

 private:
  void EmitCarry(size_t digit, llvm::Value* next);  // stores `next`, or 0 and one more in the digit before

  llvm::IRBuilderBase& b_;
  std::vector<llvm::Value*> dim_sizes_;
  std::vector<llvm::AllocaInst*> digits_;
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_IR_DIGITS_H_
