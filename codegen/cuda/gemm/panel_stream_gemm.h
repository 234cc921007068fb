// Main loop of a matmul of a few rows, which mostly reads panels, each once. Threads stream the panels from global
// memory past all rows, without shared memory. Any type, any lhs.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_PANEL_STREAM_GEMM_H_
#define TAILOR_CODEGEN_CUDA_GEMM_PANEL_STREAM_GEMM_H_

#include <vector>

#include "codegen/cuda/gemm/gemm_loop.h"
#include "codegen/cuda/gemm/packed_rhs.h"

namespace tailor::cuda {

// A block has one panel. A thread reads part_columns elements of it at once (16 bytes in f32); its neighbours read the
// rest of that step of K and the next steps. So a warp reads 512 contiguous bytes. Each step of K belongs to one of the
// tile's slices; a thread has the sums of one slice, which the epilogue adds.
class PanelStreamGemm : public GemmLoop {
 public:
  explicit PanelStreamGemm(MatmulFrame& matmul);

  void Emit() override;
  void EmitStage(llvm::Value* first) override;

 private:
  struct Step {
    llvm::Value* panel;             // part_columns elements in memory form
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
  llvm::Value* address_;          // of that column at the panel's first step
  std::vector<llvm::AllocaInst*> sums_;
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_PANEL_STREAM_GEMM_H_
