// Emits an attention kernel except for its matmuls: the loop over the keys, the softmax, and the epilogue
// (FlashAttention, Dao et al. 2022, algorithm 1). Warps split rows, not keys, as in FlashAttention-2, Dao 2023, section
// 3.3; they also split keys if there are few rows.
#ifndef TAILOR_CODEGEN_CUDA_ATTENTION_ATTENTION_KERNEL_H_
#define TAILOR_CODEGEN_CUDA_ATTENTION_ATTENTION_KERNEL_H_

#include <memory>
#include <vector>

#include "codegen/cuda/attention/attention_frame.h"
#include "codegen/cuda/attention/masked_values.h"
#include "codegen/cuda/attention/online_softmax.h"
#include "codegen/cuda/attention/staged_rows.h"

namespace tailor::cuda {

// Borrows `frame`. Each lane of a warp has a part of the scores of the warp's 16 rows in a step, and of the rows' sums.
class AttentionKernel {
 public:
  virtual ~AttentionKernel() = default;
  void Emit();

 protected:
  // The lane's row of an element, and its offset from the lane's first key, or column.
  struct Place {
    int row, offset;
  };
  // What a lane holds. Rows are i32, within the warp; `sharers` neighbouring lanes share them.
  struct Lane {
    std::vector<llvm::Value*> rows;
    int sharers;
    llvm::Value *key, *column;        // i32: the lane's first key, within the warp's keys of a step; its first column
    std::vector<Place> scores, sums;  // groups of `key_run` scores are neighbouring keys, of `run` sums columns
    int key_run;
    unsigned run;
  };

  AttentionKernel(AttentionFrame& frame, Lane lane);

  // Emits the load of the query rows from shared memory into the form that EmitQK reads. A barrier follows before steps
  // overwrite their place.
  virtual void EmitQuery() = 0;
  // The lane's part of Q K^T for a step, whose key rows are at `keys` in shared memory; in the order of Lane::scores.
  virtual std::vector<llvm::Value*> EmitQK(llvm::Value* keys) = 0;
  // Adds P V of a step to the sums; `weights` are the lane's part of P, in the order of Lane::scores.
  virtual void EmitPV(llvm::Value* values, const std::vector<llvm::Value*>& weights) = 0;

  // An f32 variable, initialised with `value` where the builder stands.
  llvm::AllocaInst* OpenRegister(float value, const char* name);
  // `shared` + row * row_bytes + offset.
  llvm::Value* At(llvm::Value* shared, llvm::Value* row, int row_bytes, llvm::Value* offset);

  AttentionFrame& f_;
  llvm::IRBuilderBase& b_;
  const Attention& a_;
  const AttentionTile& tile_;
  const Lane lane_;
  llvm::Value *warp_row_, *slice_, *slice_key_;  // i32: the warp's first row, its slice, and the slice's first key
  std::vector<llvm::AllocaInst*> sums_;          // by Lane::sums

 private:
  void EmitSteps();
  void EmitWalk(llvm::Value* begin, llvm::Value* end, llvm::function_ref<void(llvm::Value*)> bring,
                llvm::function_ref<void(llvm::Value*)> work);
  void EmitSeenSteps();
  void EmitStep(llvm::Value* first, llvm::Value* stage);
  std::vector<llvm::Value*> EmitWeights(std::vector<llvm::Value*> scores, llvm::Value* first);
  std::vector<llvm::Value*> EmitAtKeys(llvm::Value* first, int local, ExprId expr, float otherwise,
                                       llvm::function_ref<std::vector<llvm::Value*>()> values);
  void Rescale(const std::vector<llvm::Value*>& factors);
  void Scale(int row, llvm::Value* factor);
  llvm::Value* EmitVisibleEnd();
  llvm::Value* EmitMaskedHaveNoWeight(llvm::Value* first);
  std::vector<llvm::Value*> EmitMaskedScores(llvm::Value* first);
  llvm::Value* EmitHasNoWeight(int row, llvm::Value* masked);
  llvm::Value* EmitAllWarps(llvm::Value* holds);
  llvm::Value* StageOf(llvm::Value* first);
  llvm::Value* ValuesOf(llvm::Value* stage);
  void CopyStep(llvm::Value* first, llvm::Value* stage);

  void EmitResult();
  std::vector<llvm::Value*> EmitSliceReduction();
  llvm::Value* EmitScale(int row);
  void EmitStore();
  void EmitElement(llvm::Value* row, llvm::Value* column);
  llvm::Value* SliceAddress(llvm::Value* slice, llvm::Value* row);
  llvm::Value* ResultAddress(llvm::Value* slice, llvm::Value* row, llvm::Value* column);

  std::vector<llvm::AllocaInst*> at_keys_;  // by Lane::scores: the results of EmitAtKeys
  OnlineSoftmax rows_;
  StagedRows query_, keys_, values_;
  std::unique_ptr<MaskedValues> masked_values_;  // null: no keys are skipped
  std::vector<llvm::Value*> in_tile_, m_;  // the lane's rows: i32 in the tile; i64 in the plan, clamped to the last
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_ATTENTION_ATTENTION_KERNEL_H_
