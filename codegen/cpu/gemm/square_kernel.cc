#include "codegen/cpu/gemm/square_kernel.h"

#include <vector>

#include "codegen/ir/emit_loop.h"
#include "codegen/ir/memory_hints.h"
#include "codegen/ir/transpose_square.h"

namespace tailor::gemm {
namespace {

using llvm::Value;

// Lines of each row that are prefetched ahead of its square: hardware prefetchers lose track of 16 rows.
constexpr int kAheadLines = 6;

class SquareEmitter {
 public:
  SquareEmitter(const MicroKernel& kernel, llvm::Function* function)
      : kernel_(kernel),
        b_(llvm::BasicBlock::Create(function->getContext(), "entry", function)),
        rhs_(function->getArg(3)),
        depth_(function->getArg(5)),
        tile_(function->getArg(6)),
        resume_(function->getArg(7)),
        row_count_(function->getArg(2)),
        element_(b_.getFloatTy()),
        vector_(llvm::FixedVectorType::get(element_, kSquareRows)) {
    for (int r = 0; r < kSquareRows; ++r) {
      Value* offset = b_.CreateMul(RowOrLast(r), function->getArg(1), "row.offset");
      rows_.push_back(b_.CreateInBoundsGEP(element_, function->getArg(0), offset, "row"));
    }
  }

  void Emit() {
    for (int n = 0; n < kernel_.columns; ++n) {
      sums_.push_back(OpenVariable(b_, llvm::Constant::getNullValue(vector_), "sum"));
    }
    llvm::AllocaInst* rest = b_.CreateAlloca(llvm::ArrayType::get(vector_, kSquareRows), nullptr, "rest");
    rest->setAlignment(align_);
    EmitIf(b_, resume_, "resume", [&] { EmitResume(); });
    Value* whole = b_.CreateAnd(depth_, -kSquareRows, "whole.depth");
    EmitIf(b_, b_.CreateICmpSGT(whole, b_.getInt64(0)), "squares", [&] { EmitSquares(whole); });
    EmitIf(b_, b_.CreateICmpSLT(whole, depth_), "rest", [&] {
      const std::vector<Value*> steps = Square(whole, EmitFirstLanes(b_, kSquareRows, b_.CreateSub(depth_, whole)));
      for (int i = 0; i < kSquareRows; ++i) b_.CreateAlignedStore(steps[i], At(rest, b_.getInt64(i)), align_);
      EmitLoop(b_, whole, depth_, 1, "rest", [&](Value* k) {
        EmitStep(b_.CreateAlignedLoad(vector_, At(rest, b_.CreateSub(k, whole)), align_, "step"), k);
      });
    });
    EmitStore();
    b_.CreateRetVoid();
  }

 private:
  // Rows beyond the tile's repeat its last one.
  Value* RowOrLast(int row) {
    if (row < kLeastSquareRows) return b_.getInt64(row);
    Value* last = b_.CreateSub(row_count_, b_.getInt64(1), "last.row");
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b_.getInt64(row), last, nullptr, "row.index");
  }

  Value* At(Value* vectors, Value* i) { return b_.CreateInBoundsGEP(vector_, vectors, i, "vector.at"); }

  // Software-pipelined: while a square is multiplied, in chains of sums, the next one is transposed. The last one is
  // transposed twice.
  void EmitSquares(Value* whole) {
    std::vector<llvm::AllocaInst*> steps;
    for (Value* step : Square(b_.getInt64(0), nullptr)) steps.push_back(OpenVariable(b_, step, "step"));
    Value* last = b_.CreateSub(whole, b_.getInt64(kSquareRows), "last.square");
    EmitLoop(b_, b_.getInt64(0), whole, kSquareRows, "square", [&](Value* k) {
      Value* ahead = b_.CreateAdd(k, b_.getInt64(kSquareRows));
      for (Value* row : rows_) {
        Value* address = b_.CreateGEP(element_, row, b_.CreateAdd(k, b_.getInt64(kAheadLines * kSquareRows)));
        EmitPrefetchLine(b_, address);
      }
      const auto next = Square(b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, ahead, last, nullptr, "ahead"), nullptr);
      for (int i = 0; i < kSquareRows; ++i) {
        EmitStep(b_.CreateLoad(vector_, steps[i]), b_.CreateAdd(k, b_.getInt64(i), "k"));
        b_.CreateStore(next[i], steps[i]);
      }
    });
  }

  // 16 steps of K from `k` on, each a vector of the rows' elements. `mask`: the steps that exist; null: all.
  std::vector<Value*> Square(Value* k, Value* mask) {
    const llvm::Align align(sizeof(float));
    llvm::Constant* zeros = llvm::Constant::getNullValue(vector_);
    std::vector<Value*> square;
    for (Value* row : rows_) {
      Value* address = b_.CreateInBoundsGEP(element_, row, k, "row.at");
      if (mask == nullptr) {
        square.push_back(b_.CreateAlignedLoad(vector_, address, align, "row.steps"));
      } else {
        square.push_back(b_.CreateMaskedLoad(vector_, address, align, mask, zeros, "row.steps"));
      }
    }
    TransposeSquare(b_, square);
    return square;
  }

  void EmitStep(Value* rows, Value* k) {
    Value* factors = b_.CreateInBoundsGEP(element_, rhs_, b_.CreateShl(k, 4), "factors");
    for (int n = 0; n < kernel_.columns; ++n) {
      Value* address = b_.CreateConstInBoundsGEP1_64(element_, factors, n);
      Value* factor = b_.CreateVectorSplat(kSquareRows, b_.CreateAlignedLoad(element_, address, llvm::Align(4)));
      Value* sum = b_.CreateLoad(vector_, sums_[n]);
      b_.CreateStore(b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {rows, factor, sum}), sums_[n]);
    }
  }

  // The tile has the sums by rows.
  void EmitResume() {
    std::vector<Value*> square;
    for (int r = 0; r < kSquareRows; ++r) {
      square.push_back(b_.CreateAlignedLoad(vector_, At(tile_, RowOrLast(r)), align_, "resumed"));
    }
    TransposeSquare(b_, square);
    for (int n = 0; n < kernel_.columns; ++n) b_.CreateStore(square[n], sums_[n]);
  }

  void EmitStore() {
    std::vector<Value*> square(kSquareRows, llvm::Constant::getNullValue(vector_));
    for (int n = 0; n < kernel_.columns; ++n) square[n] = b_.CreateLoad(vector_, sums_[n]);
    TransposeSquare(b_, square);
    for (int r = 0; r < kSquareRows; ++r) {
      Value* address = At(tile_, b_.getInt64(r));
      if (r < kLeastSquareRows) {
        b_.CreateAlignedStore(square[r], address, align_);
      } else {
        Value* exists = b_.CreateICmpUGT(row_count_, b_.getInt64(r), "exists");
        b_.CreateMaskedStore(square[r], address, align_, b_.CreateVectorSplat(kSquareRows, exists));
      }
    }
  }

  const llvm::Align align_{kSquareRows * sizeof(float)};  // of a vector
  const MicroKernel& kernel_;
  llvm::IRBuilder<> b_;
  Value *rhs_, *depth_, *tile_, *resume_, *row_count_;
  llvm::Type* element_;
  llvm::Type* vector_;
  std::vector<Value*> rows_;
  std::vector<llvm::AllocaInst*> sums_;  // by column
};

}  // namespace

bool TakesSquares(const KernelPlan& plan, const Contraction& c, const LhsForm& form, int lanes) {
  constexpr int64_t kLeastDepth = 32;
  const auto range_of = [&](int axis) { return RangeOfDimSize(plan, plan.axes[axis].dim_size); };
  const bool f32 = plan.buffers[c.lhs.ref].dtype == DType::kF32 && plan.buffers[c.rhs.ref].dtype == DType::kF32 &&
                   c.accumulate == DType::kF32;
  return f32 && lanes == kSquareRows && form.unit_depth_stride && !form.tables &&
         range_of(c.n).max <= kMostSquareColumns && range_of(c.m).max >= kLeastSquareRows &&
         range_of(c.k).max >= kLeastDepth;
}

void EmitSquareKernel(const MicroKernel& kernel, llvm::Function* function) { SquareEmitter(kernel, function).Emit(); }

}  // namespace tailor::gemm
