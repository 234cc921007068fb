// Emits the digits of consecutive numbers: the first by division, later ones by carrying.
#ifndef TAILOR_CODEGEN_IR_DIGITS_H_
#define TAILOR_CODEGEN_IR_DIGITS_H_

#include <vector>

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

 private:
  llvm::IRBuilderBase& b_;
  std::vector<llvm::Value*> dim_sizes_;
  std::vector<llvm::AllocaInst*> digits_;
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_IR_DIGITS_H_
