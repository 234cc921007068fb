// In IR: the main loop of a product of a few rows, whose panels are read once and are most of what it reads: threads
// stream them from memory past all rows, no shared memory between. Any type, any lhs.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_PANEL_STREAM_GEMM_H_
#define TAILOR_CODEGEN_CUDA_GEMM_PANEL_STREAM_GEMM_H_

#include <vector>

#include "codegen/cuda/gemm/gemm_loop.h"
#include "codegen/cuda/gemm/packed_rhs.h"

namespace tailor::cuda {

// A block has one panel. A thread reads part_columns elements of it at once, 16 bytes of f32, and its neighbours the
// rest of that step of K and the steps after it: a warp reads 512 bytes that lie side by side. Each step of K belongs
// to one of the tile's slices; a thread has the sums of one slice, which the epilogue adds.
class PanelStreamGemm : public GemmLoop {
 public:
  explicit PanelStreamGemm(MatmulFrame& matmul);

  void Emit() override;
  void EmitStage(llvm::Value* first) override;

 private:
  struct Step {
    llvm::Value* panel;             // part_columns elements as memory holds them
    std::vector<llvm::Value*> lhs;  // by row
  };
  Step EmitLoad(llvm::Value* k);
  void EmitMultiply(const Step& step);

  MatmulFrame& matmul_;
  llvm::IRBuilderBase& b_;
  const MatmulTile& tile_;
  const DType dtype_;  // of the panel
  PackedRhs rhs_;
  llvm::Value *slice_, *column_;  // i32: the thread's slice and first column
  llvm::Value* address_;          // of that column of the panel's first step
  std::vector<llvm::AllocaInst*> sums_;
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_PANEL_STREAM_GEMM_H_
