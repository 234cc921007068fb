// In IR: an attention kernel but for its matmuls: the walk of the keys, the softmax, and the end (FlashAttention, Dao
// et al. 2022, algorithm 1; warps share rows, not keys, as in FlashAttention-2, Dao 2023, section 3.3, but where rows
// are few).
#ifndef TAILOR_CODEGEN_CUDA_ATTENTION_ATTENTION_KERNEL_H_
#define TAILOR_CODEGEN_CUDA_ATTENTION_ATTENTION_KERNEL_H_

#include <memory>
#include <vector>

#include "codegen/cuda/attention/attention_frame.h"
#include "codegen/cuda/attention/masked_values.h"
#include "codegen/cuda/attention/online_softmax.h"
#include "codegen/cuda/attention/staged_rows.h"

namespace tailor::cuda {

// Borrows `frame`. The lanes of a warp have a part each of its 16 rows' scores of a step, and of its rows' sums.
class AttentionKernel {
 public:
  virtual ~AttentionKernel() = default;
  void Emit();

 protected:
  // Which of the lane's rows an element is in, and how far behind the lane's first key, or column.
  struct Place {
    int row, offset;
  };
  // What a lane has. Rows are those of the warp, i32; `sharers` neighbouring lanes share them.
  struct Lane {
    std::vector<llvm::Value*> rows;
    int sharers;
    llvm::Value *key, *column;        // the first, i32, of the warp's keys of a step, and of columns
    std::vector<Place> scores, sums;  // of sums, runs of `run` are neighbours
    unsigned run;
  };

  AttentionKernel(AttentionFrame& frame, Lane lane);

  // Emits what brings the left factor's rows, which lie in shared memory, to where EmitQK finds them. All threads
  // meet before its place is used for steps.
  virtual void EmitQuery() = 0;
  // The lane's part of the first product of a step, whose rows are at `keys` in shared memory: by Lane::scores.
  virtual std::vector<llvm::Value*> EmitQK(llvm::Value* keys) = 0;
  // Adds the second product of the lanes' `weights`, likewise, to the sums.
  virtual void EmitPV(llvm::Value* values, const std::vector<llvm::Value*>& weights) = 0;

  // A register of f32 that begins with `value` where the builder stands.
  llvm::AllocaInst* OpenRegister(float value, const char* name);
  // `shared` + row * row_bytes + offset.
  llvm::Value* At(llvm::Value* shared, llvm::Value* row, int row_bytes, llvm::Value* offset);

  AttentionFrame& f_;
  llvm::IRBuilderBase& b_;
  const Attention& a_;
  const AttentionTile& tile_;
  const Lane lane_;
  llvm::Value *warp_row_, *slice_, *slice_key_;  // i32: the warp's first row, its slice, and that one's first key
  std::vector<llvm::AllocaInst*> sums_;          // by Lane::sums

 private:
  void EmitSteps();
  void EmitWalk(llvm::Value* begin, llvm::Value* end, llvm::function_ref<void(llvm::Value*)> bring,
                llvm::function_ref<void(llvm::Value*)> work);
  void EmitSeenSteps();
  void EmitStep(llvm::Value* first, llvm::Value* stage);
  void EmitWeights(llvm::Value* first, std::vector<llvm::Value*>& matmuls);
  void Scale(int row, llvm::Value* factor);
  llvm::Value* EmitSeenEnd();
  llvm::Value* EmitMaskedIsNothing(llvm::Value* first);
  std::vector<llvm::Value*> EmitMaskedScores(llvm::Value* first);
  llvm::Value* EmitIsNothing(int row, llvm::Value* masked);
  llvm::Value* EmitAllWarps(llvm::Value* holds);
  llvm::Value* StageOf(llvm::Value* first);
  llvm::Value* ValuesOf(llvm::Value* stage);
  void Bring(llvm::Value* first, llvm::Value* stage);

  void EmitResult();
  std::vector<llvm::Value*> EmitSliceReduction();
  llvm::Value* EmitScale(int row);
  void EmitStore();
  void EmitElement(llvm::Value* row, llvm::Value* column);
  llvm::Value* SliceAddress(llvm::Value* slice, llvm::Value* row);
  llvm::Value* ResultAddress(llvm::Value* slice, llvm::Value* row, llvm::Value* column);

  OnlineSoftmax rows_;
  StagedRows query_, keys_, values_;
  std::unique_ptr<MaskedValues> masked_values_;  // null: no keys are skipped
  std::vector<llvm::Value*> in_tile_, m_;  // the lane's rows: i32 of the tile, i64 of the plan (the last if beyond)
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_ATTENTION_ATTENTION_KERNEL_H_
