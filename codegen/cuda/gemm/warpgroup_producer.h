// The producer warps, which fill the stages of a warpgroup gemm. One thread issues tensor loads (TMA) of the rhs. It
// does so for the lhs too, if that is a tensor of aligned rows, which the kernel checks once; otherwise all producer
// threads gather its elements.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_WARPGROUP_PRODUCER_H_
#define TAILOR_CODEGEN_CUDA_GEMM_WARPGROUP_PRODUCER_H_

#include <optional>

#include "codegen/cuda/gemm/matmul_frame.h"
#include "codegen/cuda/gemm/stream_k.h"
#include "codegen/cuda/gemm/warpgroup_stages.h"

namespace tailor::cuda {

// Borrows all arguments. Emits into the entry block, where their builder stands.
class WarpgroupProducer {
 public:
  WarpgroupProducer(MatmulFrame& matmul, StreamK& stream_k, WarpgroupStages& stages);

  // Arrivals that make a stage full: i32.
  llvm::Value* Fillers() const { return full_arrivals_; }
  // Emits the copies of all segments of the block, for the producer warps.
  void Emit();

 private:
  void EmitSegments(bool boxes);
  void EmitFill(llvm::Value* k, llvm::Value* stage, bool boxes);
  void EmitLoadRhs(llvm::Value* k, llvm::Value* stage);
  void EmitLoadLhs(llvm::Value* k, llvm::Value* stage);
  void EmitGatherLhs(llvm::Value* k, llvm::Value* stage);
  void EmitCoordinates(bool boxes);
  llvm::Value* EmitIndex(const Expr& load, size_t dims);
  llvm::Value* I32(int value) { return b_.getInt32(value); }

  MatmulFrame& matmul_;
  llvm::IRBuilderBase& b_;
  StreamK& stream_k_;
  WarpgroupStages& stages_;
  const std::optional<size_t> row_dim_;
  const int rhs_box_steps_;  // RhsBoxSteps
  const int threads_;
  llvm::Value* thread_;      // i32: index among the copying threads
  llvm::Value* lhs_by_tma_;  // i1: the lhs is copied by tensor loads
  llvm::Value* full_arrivals_;
  llvm::AllocaInst* step_;            // i32
  llvm::Value* rhs_panel_ = nullptr;  // i32: first panel of the tile, in the tensor
  llvm::Value *lhs_inner_ = nullptr, *lhs_outer_ = nullptr;
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_WARPGROUP_PRODUCER_H_
