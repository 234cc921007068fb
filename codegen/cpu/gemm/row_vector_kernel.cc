#include "codegen/cpu/gemm/row_vector_kernel.h"

#include <array>
#include <vector>

#include "codegen/ir/emit_loop.h"
#include "codegen/ir/masked_store.h"
#include "codegen/ir/memory_hints.h"

namespace tailor::gemm {
namespace {

using llvm::Value;

constexpr int kVectors = 2;

class RowVectorEmitter {
 public:
  RowVectorEmitter(const MicroKernel& kernel, const EmitTarget& target, llvm::Function* function)
      : kernel_(kernel),
        target_(target),
        b_(llvm::BasicBlock::Create(function->getContext(), "entry", function)),
        lhs_(function->getArg(0)),
        depths_(function->getArg(2)),
        rhs_(function->getArg(3)),
        sums_stride_(function->getArg(4)),
        depth_(function->getArg(5)),
        sums_(function->getArg(6)),
        resume_(function->getArg(7)),
        element_(b_.getFloatTy()),
        vector_(llvm::FixedVectorType::get(element_, kernel.lanes)) {
    for (int v = 0; v < kVectors; ++v) {
      vectors_[v].offset = Number(function->getArg(1), v, "offset");
      vectors_[v].row = Number(function->getArg(8), v, "row");
    }
    for (int v = 0; v < kVectors && kernel.masks_rows; ++v) {
      Value* rows = b_.CreateSub(Number(function->getArg(8), v + 1, "row.next"), vectors_[v].row);
      Value* lanes = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, rows, b_.getInt64(kernel.lanes));
      vectors_[v].mask = EmitFirstLanes(b_, kernel.lanes, lanes);
    }
  }

  void Emit() {
    std::vector<llvm::AllocaInst*> sums;  // by column, then by vector
    for (int i = 0; i < kernel_.columns * kVectors; ++i) {
      sums.push_back(OpenVariable(b_, llvm::Constant::getNullValue(vector_), "sum"));
    }
    const auto for_all = [&](llvm::function_ref<void(llvm::AllocaInst*, Value * address, Value * mask)> body) {
      for (int v = 0; v < kVectors; ++v) {
        for (int n = 0; n < kernel_.columns; ++n) {
          Value* offset = b_.CreateAdd(b_.CreateMul(sums_stride_, b_.getInt64(n)), vectors_[v].row);
          body(sums[n * kVectors + v], b_.CreateInBoundsGEP(element_, sums_, offset, "sums"), vectors_[v].mask);
        }
      }
    };
    if (kernel_.masks_rows) {
      EmitIf(b_, resume_, "resume", [&] {
        for_all([&](llvm::AllocaInst* sum, Value* address, Value* mask) { b_.CreateStore(Load(address, mask), sum); });
      });
    }
    Value* k = b_.getInt64(0);
    if (const int steps = StepsPerBlock(kernel_, target_); steps > 1) {
      Value* end = b_.CreateSub(depth_, b_.getInt64(steps - 1), "blocks.end");
      k = EmitLoop(b_, k, end, steps, "block", [&](Value* first) {
        for (int i = 0; i < steps; ++i) {
          if (i > 0) EmitOrderOfReads(b_);
          EmitStep(b_.CreateAdd(first, b_.getInt64(i)), sums);
        }
      });
    }
    EmitLoop(b_, k, depth_, 1, "k", [&](Value* step) { EmitStep(step, sums); });
    for_all([&](llvm::AllocaInst* sum, Value* address, Value* mask) {
      Value* value = b_.CreateLoad(vector_, sum);
      if (mask == nullptr) {
        b_.CreateAlignedStore(value, address, align_);
      } else {
        EmitStoreOfFirstLanes(b_, target_, value, address, align_, mask, [](llvm::Instruction*) {});
      }
    });
    b_.CreateRetVoid();
  }

 private:
  const llvm::Align align_{sizeof(float)};
  struct RowVector {
    Value *offset = nullptr, *row = nullptr;
    Value* mask = nullptr;  // with masks_rows: the lanes that have rows
  };

  Value* Number(Value* table, int i, const char* name) {
    return b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), table, i), name);
  }
  Value* Load(Value* address, Value* mask) {
    if (mask == nullptr) return b_.CreateAlignedLoad(vector_, address, align_);
    return b_.CreateMaskedLoad(vector_, address, align_, mask, llvm::Constant::getNullValue(vector_));
  }

  void EmitStep(Value* k, const std::vector<llvm::AllocaInst*>& sums) {
    Value* depth = kernel_.tables ? b_.CreateLoad(b_.getInt64Ty(), b_.CreateInBoundsGEP(b_.getInt64Ty(), depths_, k))
                                  : b_.CreateMul(k, depths_);
    std::array<Value*, kVectors> rows;
    for (int v = 0; v < kVectors; ++v) rows[v] = EmitRows(vectors_[v], depth);
    Value* factors = b_.CreateInBoundsGEP(element_, rhs_, b_.CreateMul(k, b_.getInt64(kPanelColumns)), "factors");
    for (int n = 0; n < kernel_.columns; ++n) {
      Value* factor = b_.CreateAlignedLoad(element_, b_.CreateConstInBoundsGEP1_64(element_, factors, n), align_);
      factor = b_.CreateVectorSplat(kernel_.lanes, factor, "factor");
      for (int v = 0; v < kVectors; ++v) {
        llvm::AllocaInst* variable = sums[n * kVectors + v];
        Value* sum = b_.CreateLoad(vector_, variable);
        sum = target_.fma ? b_.CreateIntrinsic(llvm::Intrinsic::fma, {vector_}, {rows[v], factor, sum})
                          : b_.CreateFAdd(sum, b_.CreateFMul(rows[v], factor));
        b_.CreateStore(sum, variable);
      }
    }
  }

  // The elements of a vector of rows, `depth` elements from the first step of K.
  Value* EmitRows(const RowVector& vector, Value* depth) {
    Value* offset = b_.CreateAdd(vector.offset, depth);
    return Load(b_.CreateGEP(element_, lhs_, offset, "rows"), vector.mask);
  }

  const MicroKernel& kernel_;
  const EmitTarget& target_;
  llvm::IRBuilder<> b_;
  Value *lhs_, *depths_, *rhs_, *sums_stride_, *depth_, *sums_, *resume_;
  llvm::Type* element_;
  llvm::Type* vector_;
  std::array<RowVector, kVectors> vectors_;
};

}  // namespace

void EmitRowVectorKernel(const MicroKernel& kernel, const EmitTarget& target, llvm::Function* function) {
  RowVectorEmitter(kernel, target, function).Emit();
}

}  // namespace tailor::gemm
