#include "codegen/cuda/gemm/panel_stream_gemm.h"

#include "codegen/contract/panels.h"
#include "codegen/cuda/gemm/matmul_epilogue.h"
#include "codegen/ir/emit_loop.h"

namespace tailor::cuda {

using llvm::Value;

PanelStreamGemm::PanelStreamGemm(MatmulFrame& matmul)
    : matmul_(matmul), b_(matmul.b()), tile_(matmul.tile()), dtype_(matmul.types().operand), rhs_(matmul) {
  Value* across = b_.getInt32(tile_.columns / tile_.part_columns);
  slice_ = b_.CreateUDiv(matmul.thread(), across, "slice");
  column_ = b_.CreateMul(b_.CreateURem(matmul.thread(), across), b_.getInt32(tile_.part_columns), "column");
  Value* panel = rhs_.Panel(b_.CreateLShr(matmul.first_column(), 4, "panel.index"));
  Value* offset = b_.CreateMul(column_, b_.getInt32(SizeOf(dtype_)));
  address_ = b_.CreateGEP(b_.getInt8Ty(), panel, b_.CreateZExt(offset, b_.getInt64Ty()), "panel.column");
  for (int i = 0; i < tile_.rows * tile_.part_columns; ++i) {
    sums_.push_back(matmul.Variable(matmul.sum_type(), "sum"));
    b_.CreateStore(llvm::Constant::getNullValue(matmul.sum_type()), sums_.back());
  }
}

PanelStreamGemm::Step PanelStreamGemm::EmitLoad(Value* k) {
  Value* last = b_.CreateSub(matmul_.k_end(), b_.getInt64(1));
  Value* existing = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, k, last, nullptr, "k.existing");
  Value* inside = b_.CreateICmpSLT(k, matmul_.k_end(), "inside");
  Step step;
  llvm::Type* elements = MemoryType(b_.getContext(), dtype_, tile_.part_columns);
  Value* offset = b_.CreateMul(existing, b_.getInt64(kPanelColumns * SizeOf(dtype_)));
  Value* address = b_.CreateGEP(b_.getInt8Ty(), address_, offset, "panel.address");
  Value* loaded = b_.CreateAlignedLoad(elements, address, llvm::Align(tile_.part_columns * SizeOf(dtype_)), "panel");
  step.panel = b_.CreateSelect(inside, loaded, llvm::Constant::getNullValue(elements), "panel.inside");
  for (int row = 0; row < tile_.rows; ++row) {
    Value* m = matmul_.Existing(matmul_.first_row(), b_.getInt32(row), matmul_.rows());
    Value* lhs = matmul_.EmitLhs(m, existing);
    step.lhs.push_back(b_.CreateSelect(inside, lhs, llvm::Constant::getNullValue(lhs->getType()), "lhs"));
  }
  return step;
}

void PanelStreamGemm::EmitMultiply(const Step& step) {
  for (int column = 0; column < tile_.part_columns; ++column) {
    Value* rhs = matmul_.RhsElement(b_.CreateExtractElement(step.panel, column, "rhs.bits"));
    for (int row = 0; row < tile_.rows; ++row) {
      llvm::AllocaInst* slot = sums_[row * tile_.part_columns + column];
      Value* sum = b_.CreateLoad(matmul_.sum_type(), slot, "sum");
      b_.CreateStore(matmul_.EmitMultiplyAdd(step.lhs[row], rhs, sum), slot);
    }
  }
}

// One turn of all slices takes slices * depth steps of K; all loads of a thread's turn are in flight at once.
void PanelStreamGemm::Emit() {
  Value* first = b_.CreateAdd(matmul_.k_begin(), b_.CreateZExt(slice_, b_.getInt64Ty()), "k.first");
  EmitLoop(b_, first, matmul_.k_end(), tile_.slices * tile_.depth, "k", [&](Value* k) {
    std::vector<Step> steps;
    for (int i = 0; i < tile_.depth; ++i) {
      steps.push_back(EmitLoad(b_.CreateAdd(k, b_.getInt64(i * tile_.slices), "k.step")));
    }
    for (const Step& step : steps) EmitMultiply(step);
  });
}

void PanelStreamGemm::EmitStage(Value* first) {
  for (int row = 0; row < tile_.rows; ++row) {
    Value* at = b_.CreateSub(b_.getInt32(row), first, "pass.row");
    EmitIf(b_, b_.CreateICmpULT(at, b_.getInt32(tile_.pass_rows), "in.pass"), "stage", [&] {
      for (int column = 0; column < tile_.part_columns; ++column) {
        Value* address = StagedSum(matmul_, at, b_.CreateAdd(column_, b_.getInt32(column)), slice_);
        Value* sum = b_.CreateLoad(matmul_.sum_type(), sums_[row * tile_.part_columns + column], "sum");
        b_.CreateAlignedStore(sum, address, llvm::Align(SizeOf(matmul_.types().accumulate)));
      }
    });
  }
}

}  // namespace tailor::cuda
