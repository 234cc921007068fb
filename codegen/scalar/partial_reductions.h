// Partial reductions: the span of a row that each thread or block reduces, and the scratch cells for its partial
// results.
#ifndef TAILOR_CODEGEN_SCALAR_PARTIAL_REDUCTIONS_H_
#define TAILOR_CODEGEN_SCALAR_PARTIAL_REDUCTIONS_H_

#include <cstdint>

#include "codegen/plan/row_parts.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor {

// Elements [begin, end) of an axis.
struct PartSpan {
  llvm::Value *begin, *end;
  bool at_multiples = false;  // `begin` is a multiple of the lanes
};

// Of the split axis: whole vectors of `lanes`, of equal length except for the last parts.
inline PartSpan EmitPartSpan(llvm::IRBuilderBase& b, llvm::Value* dim_size, llvm::Value* part, llvm::Value* parts,
                             int64_t lanes) {
  const auto over = [&](llvm::Value* x, llvm::Value* y) {
    return b.CreateUDiv(b.CreateAdd(x, b.CreateSub(y, b.getInt64(1))), y);
  };
  const auto until = [&](llvm::Value* end, const char* name) {
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, dim_size, nullptr, name);
  };
  llvm::Value* vector = b.getInt64(lanes);
  llvm::Value* length = b.CreateMul(over(over(dim_size, parts), vector), vector, "part.length");
  llvm::Value* begin = until(b.CreateMul(part, length), "part.begin");
  return {begin, until(b.CreateAdd(begin, length), "part.end")};
}

// 8-byte cells in the launch's scratch: [reductions][groups][parts][width], where `width` points are a group. Each cell
// is written once per launch, in a phase before the one that reads it. Vectors of narrower elements use the first bytes
// of their cells.
class PartialReductions {
 public:
  PartialReductions(llvm::IRBuilderBase& b, llvm::Value* base, llvm::Value* groups, llvm::Value* parts, int width)
      : b_(b), base_(base), groups_(groups), parts_(parts), width_(b.getInt64(width)) {}

  // i64 indices: the group, the part in it, and the point of the group.
  struct Place {
    llvm::Value *group, *part, *point;
  };
  void Store(int reduction, const Place& place, llvm::Value* value) {
    b_.CreateAlignedStore(value, At(reduction, place), llvm::Align(kPartialBytes));
  }
  llvm::Value* Load(int reduction, const Place& place, llvm::Type* type) {
    return b_.CreateAlignedLoad(type, At(reduction, place), llvm::Align(kPartialBytes), "part.result");
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

#endif  // TAILOR_CODEGEN_SCALAR_PARTIAL_REDUCTIONS_H_
