// Where the blocks that share a point leave what each has of its reductions.
#ifndef TAILOR_CODEGEN_CUDA_PART_CELLS_H_
#define TAILOR_CODEGEN_CUDA_PART_CELLS_H_

#include <cstdint>

#include "llvm/IR/IRBuilder.h"

namespace tailor {

// Cells of 8 bytes in global scratch: [reductions][groups][parts][width], `width` points making a group that blocks
// take together. Each is written once in a launch, before the barrier of the grid behind which it is read.
class PartCells {
 public:
  static constexpr int64_t kBytes = 8;

  PartCells(llvm::IRBuilderBase& b, llvm::Value* base, llvm::Value* groups, llvm::Value* parts, int width)
      : b_(b), base_(base), groups_(groups), parts_(parts), width_(b.getInt64(width)) {}

  // i64s: of which group, of which part of it, and which of its points.
  struct Place {
    llvm::Value *group, *part, *point;
  };
  void Store(int reduction, const Place& place, llvm::Value* value) {
    b_.CreateAlignedStore(value, At(reduction, place), llvm::Align(kBytes));
  }
  llvm::Value* Load(int reduction, const Place& place, llvm::Type* type) {
    return b_.CreateAlignedLoad(type, At(reduction, place), llvm::Align(kBytes), "part.result");
  }

 private:
  llvm::Value* At(int reduction, const Place& place) {
    llvm::Value* group = b_.CreateAdd(b_.CreateMul(groups_, b_.getInt64(reduction)), place.group, "cell.group");
    llvm::Value* part = b_.CreateAdd(b_.CreateMul(group, parts_), place.part, "cell.part");
    llvm::Value* index = b_.CreateAdd(b_.CreateMul(part, width_), place.point, "cell.index");
    return b_.CreateInBoundsGEP(b_.getInt64Ty(), base_, index, "cell");
  }

  llvm::IRBuilderBase& b_;
  llvm::Value *base_, *groups_, *parts_, *width_;
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CUDA_PART_CELLS_H_
