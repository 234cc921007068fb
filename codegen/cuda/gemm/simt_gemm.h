// The SIMT gemm: main loop of a matmul by single multiply-adds (FFMA). Any type, any lhs.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_SIMT_GEMM_H_
#define TAILOR_CODEGEN_CUDA_GEMM_SIMT_GEMM_H_

#include <vector>

#include "codegen/cuda/gemm/gemm_loop.h"

namespace tailor::cuda {

// Per step of K, a thread reads part_rows + part_columns elements from shared memory, 16 bytes at a time, for part_rows
// * part_columns multiply-adds. Shared memory is double-buffered: while one step is multiplied, the next is in flight
// through registers. K ascends in one chain of sums.
class SimtGemm : public GemmLoop {
 public:
  explicit SimtGemm(MatmulFrame& matmul);

  void Emit() override;
  void EmitStage(llvm::Value* first) override;

 private:
  // The elements that one thread loads for a step.
  struct StepRegisters {
    std::vector<llvm::Value*> lhs, rhs;
  };
  struct Place {
    llvm::Value *along, *k;  // i32: row or column of the tile; step within the tile's depth
  };

  Place LhsPlace(int i);
  Place RhsPlace(int i);
  StepRegisters EmitCopyStep(llvm::Value* k);
  void EmitStoreShared(const StepRegisters& brought, llvm::Value* buffer);
  void EmitMultiply(llvm::Value* buffer);
  std::vector<llvm::Value*> EmitVectors(llvm::Value* base, llvm::ArrayRef<llvm::Value*> offsets);
  llvm::Value* Lhs(llvm::Value* buffer);
  llvm::Value* Rhs(llvm::Value* buffer);
  llvm::Value* Column(int group);  // i32: the thread's first column in the group

  MatmulFrame& matmul_;
  llvm::IRBuilderBase& b_;
  const MatmulTile& tile_;
  const int vector_;          // elements per 16 bytes
  const bool along_rows_;     // neighbouring rows of the lhs are contiguous
  llvm::Value *row_, *lane_;  // i32: the thread's first row; its index among the threads of a row
  std::vector<llvm::AllocaInst*> sums_;
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_SIMT_GEMM_H_
