// In IR: what follows a matmul on a GPU: sums pass through shared memory, so that neighbouring threads have
// neighbouring elements of the outputs, whatever fragments the main loop leaves, for the plan's later stages.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_MATMUL_EPILOGUE_H_
#define TAILOR_CODEGEN_CUDA_GEMM_MATMUL_EPILOGUE_H_

#include "codegen/cuda/gemm/matmul_frame.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tailor::cuda {

// What becomes of one sum, of `row` and `column` of the tile (i64), or of a vector of the sums of so many columns from
// `column` on.
using TakeSum = llvm::function_ref<void(llvm::Value* row, llvm::Value* column, llvm::Value* sum)>;

// Emits, for each pass of MatmulTile::pass_rows rows of the tile: `stage(first)`, which leaves the sums of rows first,
// first + 1, ... (i32, of the tile) at StagedSum, and `take` for all its elements that exist. All threads of the
// matmul's team must arrive; what they exchange sums through is the passes' from here on.
void EmitPasses(MatmulFrame& matmul, llvm::function_ref<void(llvm::Value* first)> stage, TakeSum take);

// The stages that follow the sum: a TakeSum. Requires of a vector that MatmulFrame::EmitWithLanes found it whole.
void EmitMatmulElement(MatmulFrame& matmul, llvm::Value* row, llvm::Value* column, llvm::Value* sum);

// The dim size of the tile along which neighbouring threads take neighbours: its columns, or where outputs lie along
// rows, its rows.
int FastDimSize(const MatmulFrame& matmul);

// Where a slice's sum of `row`, counted from the first of the pass, and `column` of the tile is staged; all i32.
// Without a slice: of the first.
llvm::Value* StagedSum(MatmulFrame& matmul, llvm::Value* row, llvm::Value* column, llvm::Value* slice = nullptr);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_MATMUL_EPILOGUE_H_
