// In IR: the softmax of rows whose scores come some at a time: each thread has parts of some rows, neighbouring threads
// the other parts (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018, algorithm 3).
#ifndef TAILOR_CODEGEN_CUDA_ATTENTION_ONLINE_SOFTMAX_H_
#define TAILOR_CODEGEN_CUDA_ATTENTION_ONLINE_SOFTMAX_H_

#include <vector>

#include "codegen/cuda/attention/attention_frame.h"

namespace tailor::cuda {

// Borrows `frame`. Emits into the entry block, where its builder stands. The maximum so far begins with -inf. Where it
// is still that, 0 is subtracted in its place: scores that are all -inf have made no NaN yet, for a larger one may
// follow.
class OnlineSoftmax {
 public:
  // `sharers` neighbouring threads, a power of two, share each of the thread's `rows` rows.
  OnlineSoftmax(AttentionFrame& frame, int rows, int sharers);

  // Takes scores (f32) of row `row`: they become their exponentials. Returns what sums so far are to be multiplied
  // with.
  llvm::Value* EmitTake(int row, std::vector<llvm::Value*>& scores);
  // Sums over the sharers, once all scores are taken.
  void EmitFinish();
  // The maximum, and the sum of exponentials of what lies below it, of all sharers after EmitFinish: f32.
  llvm::Value* EmitTop(int row) { return Load(tops_[row], "top"); }
  llvm::Value* EmitTotal(int row) { return Load(totals_[row], "total"); }
  // The row is one of several parts, of which `tops` and `totals` are all: makes them one, and returns what this part's
  // sums are to be multiplied with.
  llvm::Value* EmitJoin(int row, const std::vector<llvm::Value*>& tops, const std::vector<llvm::Value*>& totals);
  // The larger; NaN where one is.
  llvm::Value* EmitMax(llvm::Value* x, llvm::Value* y);

 private:
  void Set(int row, llvm::Value* top, llvm::Value* total);
  llvm::Value* Load(llvm::AllocaInst* slot, const char* name) { return b_.CreateLoad(b_.getFloatTy(), slot, name); }
  llvm::Value* EmitSubtrahend(llvm::Value* top);
  llvm::Value* EmitExponential(llvm::Value* score, llvm::Value* subtrahend);

  AttentionFrame& frame_;
  llvm::IRBuilderBase& b_;
  const int sharers_;
  std::vector<llvm::AllocaInst*> tops_, totals_;
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_ATTENTION_ONLINE_SOFTMAX_H_
