#include "codegen/cuda/gemm/simt_gemm.h"

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/gemm/matmul_epilogue.h"
#include "codegen/ir/emit_loop.h"

namespace tailor::cuda {
using llvm::Value;

SimtGemm::SimtGemm(MatmulFrame& matmul)
    : matmul_(matmul),
      b_(matmul.b()),
      tile_(matmul.tile()),
      vector_(16 / SizeOf(matmul.contraction().accumulate)),
      along_rows_(RowsLieSideBySide(matmul.plan(), matmul.contraction())) {
  const int lanes = tile_.columns / tile_.part_columns;
  lane_ = b_.CreateURem(matmul.thread(), b_.getInt32(lanes), "lane");
  row_ = b_.CreateMul(b_.CreateUDiv(matmul.thread(), b_.getInt32(lanes)), b_.getInt32(tile_.part_rows), "row");
  for (int i = 0; i < tile_.part_rows * tile_.part_columns; ++i) {
    sums_.push_back(matmul.Variable(matmul.sum_type(), "sum"));
    b_.CreateStore(llvm::Constant::getNullValue(matmul.sum_type()), sums_.back());
  }
}

// Buffers in shared memory: [2][depth][LhsRow | columns].
Value* SimtGemm::Lhs(Value* buffer) {
  const int row = LhsRow(tile_, matmul_.types()), elements = tile_.depth * (row + tile_.columns);
  return b_.CreateInBoundsGEP(matmul_.sum_type(), matmul_.shared(), b_.CreateMul(buffer, b_.getInt32(elements)),
                              "lhs.buffer");
}

Value* SimtGemm::Rhs(Value* buffer) {
  const int elements = tile_.depth * LhsRow(tile_, matmul_.types());
  return b_.CreateConstInBoundsGEP1_32(matmul_.sum_type(), Lhs(buffer), elements, "rhs.buffer");
}

Value* SimtGemm::Column(int group) {
  const int groups = tile_.part_columns / vector_;
  Value* within = b_.CreateMul(lane_, b_.getInt32(vector_));
  return b_.CreateAdd(within, b_.getInt32(group * tile_.columns / groups), "column");
}

SimtGemm::Place SimtGemm::LhsPlace(int i) {
  Value* element = b_.CreateAdd(matmul_.thread(), b_.getInt32(i * matmul_.version().threads), "lhs.element");
  Value* fast = b_.getInt32(along_rows_ ? tile_.rows : tile_.depth);
  Value *low = b_.CreateURem(element, fast), *high = b_.CreateUDiv(element, fast);
  return along_rows_ ? Place{low, high} : Place{high, low};
}

SimtGemm::Place SimtGemm::RhsPlace(int i) {
  Value* element = b_.CreateAdd(matmul_.thread(), b_.getInt32(i * matmul_.version().threads), "rhs.element");
  Value* columns = b_.getInt32(tile_.columns);
  return {b_.CreateURem(element, columns), b_.CreateUDiv(element, columns)};
}

// Beyond the last row or column another one is read, whose sums are not stored; beyond K both operands are zero.
SimtGemm::StepRegisters SimtGemm::EmitCopyStep(Value* k) {
  const bool whole = matmul_.IsMultiple(matmul_.contraction().k, tile_.depth);
  Value* zero = llvm::Constant::getNullValue(matmul_.sum_type());
  const auto guarded = [&](const Place& place, llvm::function_ref<Value*(Value * k)> element) {
    Value* value = element(matmul_.Existing(k, place.k, matmul_.depth()));
    if (whole) return value;
    Value* at = b_.CreateAdd(k, b_.CreateZExt(place.k, b_.getInt64Ty()));
    return b_.CreateSelect(b_.CreateICmpSLT(at, matmul_.depth(), "inside"), value, zero, "brought");
  };
  StepRegisters brought;
  const int threads = matmul_.version().threads;
  for (int i = 0; i < tile_.rows * tile_.depth / threads; ++i) {
    const Place place = LhsPlace(i);
    Value* m = matmul_.Existing(matmul_.first_row(), place.along, matmul_.rows());
    brought.lhs.push_back(guarded(place, [&](Value* at) { return matmul_.EmitLhs(m, at); }));
  }
  for (int i = 0; i < tile_.columns * tile_.depth / threads; ++i) {
    const Place place = RhsPlace(i);
    Value* n = matmul_.Existing(matmul_.first_column(), place.along, matmul_.columns());
    brought.rhs.push_back(guarded(place, [&](Value* at) { return matmul_.EmitRhs(at, n); }));
  }
  return brought;
}

void SimtGemm::EmitStoreShared(const StepRegisters& brought, Value* buffer) {
  const auto put = [&](Value* base, const Place& place, int row, Value* value) {
    Value* offset = b_.CreateAdd(b_.CreateMul(place.k, b_.getInt32(row)), place.along, "put.offset");
    Value* address = b_.CreateInBoundsGEP(matmul_.sum_type(), base, offset, "put");
    b_.CreateAlignedStore(value, address, llvm::Align(16 / vector_));
  };
  Value *lhs = Lhs(buffer), *rhs = Rhs(buffer);
  for (size_t i = 0; i < brought.lhs.size(); ++i) {
    put(lhs, LhsPlace(i), LhsRow(tile_, matmul_.types()), brought.lhs[i]);
  }
  for (size_t i = 0; i < brought.rhs.size(); ++i) put(rhs, RhsPlace(i), tile_.columns, brought.rhs[i]);
}

// The elements of the 16 bytes at each offset, in order.
std::vector<Value*> SimtGemm::EmitVectors(Value* base, llvm::ArrayRef<Value*> offsets) {
  auto* type = llvm::FixedVectorType::get(matmul_.sum_type(), vector_);
  std::vector<Value*> elements;
  for (Value* offset : offsets) {
    Value* address = b_.CreateInBoundsGEP(matmul_.sum_type(), base, offset, "factors.address");
    Value* loaded = b_.CreateAlignedLoad(type, address, llvm::Align(16), "factors");
    for (int i = 0; i < vector_; ++i) elements.push_back(b_.CreateExtractElement(loaded, i, "factor"));
  }
  return elements;
}

void SimtGemm::EmitMultiply(Value* buffer) {
  Value *lhs = Lhs(buffer), *rhs = Rhs(buffer);
  for (int k = 0; k < tile_.depth; ++k) {
    std::vector<Value*> row_offsets, column_offsets;
    for (int r = 0; r < tile_.part_rows; r += vector_) {
      row_offsets.push_back(b_.CreateAdd(row_, b_.getInt32(k * LhsRow(tile_, matmul_.types()) + r)));
    }
    for (int group = 0; group < tile_.part_columns / vector_; ++group) {
      column_offsets.push_back(b_.CreateAdd(Column(group), b_.getInt32(k * tile_.columns)));
    }
    const std::vector<Value*> x = EmitVectors(lhs, row_offsets), y = EmitVectors(rhs, column_offsets);
    for (size_t r = 0; r < x.size(); ++r) {
      for (size_t c = 0; c < y.size(); ++c) {
        llvm::AllocaInst* slot = sums_[r * y.size() + c];
        Value* sum = b_.CreateLoad(matmul_.sum_type(), slot, "sum");
        b_.CreateStore(matmul_.EmitMultiplyAdd(x[r], y[c], sum), slot);
      }
    }
  }
}

void SimtGemm::Emit() {
  const auto buffer_of = [&](Value* k) {
    Value* step = b_.CreateTrunc(b_.CreateUDiv(k, b_.getInt64(tile_.depth)), b_.getInt32Ty(), "step");
    return b_.CreateAnd(step, 1, "buffer");
  };
  EmitIf(b_, b_.CreateICmpSLT(matmul_.k_begin(), matmul_.k_end(), "any.depth"), "multiply", [&] {
    EmitStoreShared(EmitCopyStep(matmul_.k_begin()), buffer_of(matmul_.k_begin()));
    device::EmitBarrier(b_);
    EmitLoop(b_, matmul_.k_begin(), matmul_.k_end(), tile_.depth, "k", [&](Value* k) {
      const StepRegisters next = EmitCopyStep(b_.CreateAdd(k, b_.getInt64(tile_.depth), "k.ahead"));
      Value* buffer = buffer_of(k);
      EmitMultiply(buffer);
      EmitStoreShared(next, b_.CreateXor(buffer, 1, "buffer.next"));
      device::EmitBarrier(b_);
    });
  });
}

void SimtGemm::EmitStage(Value* first) {
  Value* row = b_.CreateSub(row_, first, "pass.row");
  EmitIf(b_, b_.CreateICmpULT(row, b_.getInt32(tile_.pass_rows), "in.pass"), "stage", [&] {
    for (int r = 0; r < tile_.part_rows; ++r) {
      for (int c = 0; c < tile_.part_columns; ++c) {
        Value* column = b_.CreateAdd(Column(c / vector_), b_.getInt32(c % vector_));
        Value* sum = b_.CreateLoad(matmul_.sum_type(), sums_[r * tile_.part_columns + c], "sum");
        b_.CreateAlignedStore(sum, StagedSum(matmul_, b_.CreateAdd(row, b_.getInt32(r)), column),
                              llvm::Align(16 / vector_));
      }
    }
  });
}

}  // namespace tailor::cuda
