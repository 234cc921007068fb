// In IR: the warps that fill the stages of a product on warpgroups. The right operand comes in boxes of its tensor
// map, asked for by one thread. So does the left one where it is a tensor of aligned rows, which the kernel looks at
// once; else all threads gather its elements.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_WARPGROUP_PRODUCER_H_
#define TAILOR_CODEGEN_CUDA_GEMM_WARPGROUP_PRODUCER_H_

#include <optional>

#include "codegen/cuda/gemm/product_frame.h"
#include "codegen/cuda/gemm/product_portions.h"
#include "codegen/cuda/gemm/warpgroup_stages.h"

namespace tailor::cuda {

// Borrows all. Emits into the entry block, where their builder stands.
class WarpgroupProducer {
 public:
  WarpgroupProducer(ProductFrame& product, ProductPortions& portions, WarpgroupStages& stages);

  // How many arrivals make a stage full: i32.
  llvm::Value* Fillers() const { return fillers_; }
  // Emits the steps of all portions of the block, for the copying warps.
  void Emit();

 private:
  void EmitPortions(bool boxes);
  void EmitFill(llvm::Value* k, llvm::Value* stage, bool boxes);
  void EmitLoadRight(llvm::Value* k, llvm::Value* stage);
  void EmitLoadLeft(llvm::Value* k, llvm::Value* stage);
  void EmitGatherLeft(llvm::Value* k, llvm::Value* stage);
  void EmitCoordinates(bool boxes);
  llvm::Value* EmitIndex(const Expr& load, size_t dims);
  llvm::Value* I32(int value) { return b_.getInt32(value); }

  ProductFrame& product_;
  llvm::IRBuilderBase& b_;
  ProductPortions& portions_;
  WarpgroupStages& stages_;
  const std::optional<size_t> row_dim_;
  const int right_box_steps_;  // RightBoxSteps
  const int threads_;
  llvm::Value* thread_;  // i32: among those that copy
  llvm::Value* is_box_;  // i1: the left operand comes in boxes
  llvm::Value* fillers_;
  llvm::AllocaInst* step_;              // i32
  llvm::Value* right_panel_ = nullptr;  // i32: of the tile, in the tensor
  llvm::Value *left_inner_ = nullptr, *left_outer_ = nullptr;
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_WARPGROUP_PRODUCER_H_
