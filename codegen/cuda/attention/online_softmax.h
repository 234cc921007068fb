// Online softmax: scores of a row come in steps; each thread has parts of some rows, neighbouring threads the other
// parts (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018, algorithm 3).
#ifndef TAILOR_CODEGEN_CUDA_ATTENTION_ONLINE_SOFTMAX_H_
#define TAILOR_CODEGEN_CUDA_ATTENTION_ONLINE_SOFTMAX_H_

#include <vector>

#include "codegen/cuda/attention/attention_frame.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tailor::cuda {

// Borrows `frame`. Emits into the entry block, where its builder stands. The maximum begins at -inf. While it is -inf,
// 0 is subtracted instead: a step of scores that are all -inf must not make NaN, as a larger score may follow.
class OnlineSoftmax {
 public:
  // `sharers` neighbouring threads, a power of two, share each of the thread's `rows` rows.
  OnlineSoftmax(AttentionFrame& frame, int rows, int sharers);

  // Replaces the scores (f32) of row `row` by their exponentials. Returns the factor by which earlier sums must be
  // scaled.
  llvm::Value* EmitUpdate(int row, std::vector<llvm::Value*>& scores);
  // After the last scores: adds the sums of the sharers, so that each has the whole sum.
  void EmitFinish();
  // f32: the row's maximum so far, and the sum of exponentials relative to it. The sum is this thread's part until
  // EmitFinish, then that of all sharers.
  llvm::Value* EmitRunningMax(int row) { return Load(running_max_[row], "running_max"); }
  llvm::Value* EmitRunningSum(int row) { return Load(running_sum_[row], "running_sum"); }
  // Combines the row with other parts: `maxima` and `sums` are those of all parts. Returns the factor of this part's
  // sums.
  llvm::Value* EmitMerge(int row, const std::vector<llvm::Value*>& maxima, const std::vector<llvm::Value*>& sums);
  // The larger of both; NaN if either is NaN.
  llvm::Value* EmitMax(llvm::Value* x, llvm::Value* y);

 private:
  void Set(int row, llvm::Value* running_max, llvm::Value* running_sum);
  llvm::Value* Load(llvm::AllocaInst* slot, const char* name) { return b_.CreateLoad(b_.getFloatTy(), slot, name); }
  llvm::Value* EmitSubtrahend(llvm::Value* running_max);
  llvm::Value* EmitExponential(llvm::Value* score, llvm::Value* subtrahend);
  llvm::Value* EmitTree(std::vector<llvm::Value*> values,
                        llvm::function_ref<llvm::Value*(llvm::Value*, llvm::Value*)> combine);

  AttentionFrame& frame_;
  llvm::IRBuilderBase& b_;
  const int sharers_;
  std::vector<llvm::AllocaInst*> running_max_, running_sum_;
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_ATTENTION_ONLINE_SOFTMAX_H_
