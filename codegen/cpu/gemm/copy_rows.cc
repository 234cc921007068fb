#include "codegen/cpu/gemm/copy_rows.h"

#include <algorithm>
#include <vector>

#include "codegen/contract/panels.h"
#include "codegen/cpu/gemm/lhs_operand.h"
#include "codegen/ir/emit_loop.h"
#include "codegen/ir/transpose_square.h"
#include "codegen/scalar/scalar_ops.h"

namespace tailor::gemm {

using llvm::Value;

namespace {

constexpr int kRegisterBytes = 16, kLineBytes = 64;
constexpr int64_t kSlackRows = kRegisterBytes - 1;

}  // namespace

RowCopies RowCopiesOf(const KernelPlan& plan, const Contraction& c, const LhsForm& form, const EmitTarget& target) {
  const Buffer& rhs = plan.buffers[c.rhs.ref];
  if (StepsPerWord(rhs.layout, rhs.dtype) == 1) return RowCopies::kNone;
  if (rhs.dtype == DType::kI8 && target.integer_matmuls == IntegerMatmuls::kPairs) return RowCopies::kSplitWords;
  const bool converts = rhs.dtype == DType::kBF16 && target.bf16_matmuls == BF16Matmuls::kConverted;
  return form.unit_depth_stride || converts ? RowCopies::kNone : RowCopies::kWords;
}

CopiedRows CopiedRowsOf(const KernelPlan& plan, const Contraction& c, const ContractionTile& tile) {
  const int64_t element = SizeOf(plan.buffers[c.lhs.ref].dtype), line = kLineBytes / element;
  const int64_t depth = std::min(RangeOfDimSize(plan, plan.axes[c.k].dim_size).max, tile.depth);
  CopiedRows copied;
  copied.split = tile.split_words;
  copied.stride = (depth + line - 1) / line * line * (copied.split ? 2 : 1) + line;
  copied.bytes = (tile.task_rows + kSlackRows) * copied.stride * element;
  return copied;
}

namespace {

class RowCopier {
 public:
  RowCopier(llvm::IRBuilderBase& b, const RunOfRows& from, Value* to, const CopiedRows& layout)
      : b_(b),
        from_(from),
        to_(to),
        layout_(layout),
        size_(kRegisterBytes / SizeOf(from.dtype)),
        element_(MemoryType(b.getContext(), from.dtype, 1)),
        align_(SizeOf(from.dtype)) {}

  void Emit() {
    if (from_.contiguous_steps > 1) return EmitRows();
    if (RowStep() == 0) return EmitElements();
    if (from_.slack) return EmitSquares();
    Value* whole = b_.CreateICmpSGE(from_.rows, I64(size_), "whole");
    EmitIf(b_, whole, "squares", [&] { EmitSquares(); });
    EmitIf(b_, b_.CreateNot(whole), "elements", [&] { EmitElements(); });
  }

 private:
  Value* I64(int64_t value) { return b_.getInt64(value); }

  // Row by row, as many steps at a time as are contiguous.
  void EmitRows() {
    EmitLoop(b_, I64(0), from_.rows, 1, "copy.row", [&](Value* row) {
      Value* begin = I64(0);
      // The rest: words, then elements.
      for (int steps = from_.contiguous_steps; steps > 0; steps = steps > 4 ? 4 : steps / 4) {
        Value* end = from_.whole_steps || steps == 1 ? from_.depth : b_.CreateAnd(from_.depth, -int64_t{steps});
        EmitLoop(b_, begin, end, steps, "copy.steps", [&](Value* k) { CopySteps(row, k, steps); });
        if (from_.whole_steps) return;
        begin = end;
      }
    });
  }

  void EmitElements() {
    EmitLoop(b_, I64(0), from_.rows, 1, "copy.row", [&](Value* row) {
      EmitLoop(b_, I64(0), from_.depth, 1, "copy.step", [&](Value* k) { CopySteps(row, k, 1); });
    });
  }

  void CopySteps(Value* row, Value* k, int steps) {
    Value* offset = b_.CreateMul(row, from_.slope);
    if (steps > 1 || !layout_.split) return Store(Load(offset, k, steps), row, k);
    // The steps 4 w to 4 w + 3 are the i16 4 w, 4 w + 2, 4 w + 1 and 4 w + 3.
    Value* swapped = b_.CreateOr(b_.CreateShl(b_.CreateAnd(k, 1), 1), b_.CreateAnd(b_.CreateLShr(k, 1), 1));
    Value* place = b_.CreateShl(b_.CreateOr(b_.CreateAnd(k, -4), swapped), 1, "place");
    b_.CreateAlignedStore(b_.CreateZExt(Load(offset, k, 1), b_.getInt16Ty()), Place(row, place), llvm::Align(2));
  }

  // The slope, where vectors of rows are loaded; else 0.
  int RowStep() const {
    const auto* slope = llvm::dyn_cast<llvm::ConstantInt>(from_.slope);
    return slope != nullptr && (slope->isOne() || slope->equalsInt(2)) ? static_cast<int>(slope->getZExtValue()) : 0;
  }

  // Squares of a register's rows by as many steps, transposed in registers. The last one of a run of several begins
  // before the one before it ends.
  void EmitSquares() {
    Value* last = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(from_.rows, I64(size_)), I64(0));
    Value* last_step = b_.CreateSub(from_.depth, I64(1), "last.step");
    EmitLoop(b_, I64(0), from_.rows, size_, "copy.rows", [&](Value* i) {
      Value* row = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, i, last, nullptr, "row");
      EmitLoop(b_, I64(0), from_.depth, size_, "copy.steps", [&](Value* k) {
        std::vector<Value*> square;
        for (int step = 0; step < size_; ++step) {
          Value* at = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateAdd(k, I64(step)), last_step);
          square.push_back(LoadRows(row, at));
        }
        TransposeSquare(b_, square);
        for (int r = 0; r < size_; ++r) Store(square[r], b_.CreateAdd(row, I64(r)), k);
      });
    });
  }

  // The elements of a register's rows at step `k`.
  Value* LoadRows(Value* row, Value* k) {
    Value* first = b_.CreateMul(row, from_.slope);
    if (RowStep() == 1) return Load(first, k, size_);
    // Every other element, the second half from an odd one on: so none past the last row is read.
    Value* low = Load(first, k, size_);
    Value* high = Load(b_.CreateAdd(first, I64(size_ - 1)), k, size_);
    std::vector<int> even;
    for (int r = 0; r < size_; ++r) even.push_back(r < size_ / 2 ? 2 * r : 2 * r + 1);
    return b_.CreateShuffleVector(low, high, even, "even");
  }

  // `count` elements from the row at `offset` and step `k` on.
  Value* Load(Value* offset, Value* k, int count) {
    Value* address = b_.CreateGEP(element_, from_.address, b_.CreateAdd(offset, from_.depth_offset(k)), "source");
    llvm::Type* type = count > 1 ? llvm::FixedVectorType::get(element_, count) : element_;
    return b_.CreateAlignedLoad(type, address, align_, "steps");
  }

  // The elements of a row from step `k` on, a multiple of the word's steps.
  void Store(Value* steps, Value* row, Value* k) {
    if (!layout_.split) {
      b_.CreateAlignedStore(steps, Place(row, k), align_);
      return;
    }
    const int bytes = llvm::cast<llvm::FixedVectorType>(steps->getType())->getNumElements();
    Value* halves = b_.CreateBitCast(steps, llvm::FixedVectorType::get(b_.getInt16Ty(), bytes / 2), "halves");
    auto* words = llvm::FixedVectorType::get(b_.getInt32Ty(), bytes / 4);
    Value* even = b_.CreateBitCast(b_.CreateAnd(halves, 0xff), words, "even");
    Value* odd = b_.CreateBitCast(b_.CreateLShr(halves, 8), words, "odd");
    std::vector<int> order;
    for (int i = 0; i < bytes / 4; ++i) order.insert(order.end(), {i, bytes / 4 + i});
    Value* split = b_.CreateShuffleVector(even, odd, order, "split");
    b_.CreateAlignedStore(split, Place(row, b_.CreateShl(k, 1)), llvm::Align(4));
  }

  Value* Place(Value* row, Value* k) {
    Value* offset = b_.CreateAdd(b_.CreateMul(row, I64(layout_.stride)), k);
    return b_.CreateInBoundsGEP(element_, to_, offset, "place");
  }

  llvm::IRBuilderBase& b_;
  const RunOfRows& from_;
  Value* to_;
  const CopiedRows& layout_;
  const int size_;  // elements of a register
  llvm::Type* element_;
  llvm::Align align_;
};

}  // namespace

void EmitCopyRows(llvm::IRBuilderBase& b, const RunOfRows& from, Value* to, const CopiedRows& layout) {
  RowCopier(b, from, to, layout).Emit();
}

}  // namespace tailor::gemm
