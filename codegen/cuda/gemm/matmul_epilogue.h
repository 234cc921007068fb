// Emits the epilogue of a GPU matmul, the plan's later stages. Sums pass through shared memory, so that neighbouring
// threads store neighbouring elements, whatever fragments the main loop leaves.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_MATMUL_EPILOGUE_H_
#define TAILOR_CODEGEN_CUDA_GEMM_MATMUL_EPILOGUE_H_

#include "codegen/cuda/gemm/matmul_frame.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tailor::cuda {

// Consumer of one sum, at `row` and `column` of the tile (i64), or of a vector of sums of columns from `column` on.
using TakeSum = llvm::function_ref<void(llvm::Value* row, llvm::Value* column, llvm::Value* sum)>;

// Emits, for each pass of MatmulTile::pass_rows rows of the tile: `stage(first)`, which stores the sums of rows first,
// first + 1, ... (i32, in the tile) at their StagedSum, then `take` for all existing elements. All threads of the
// matmul's team must arrive. From here on the staging memory belongs to the passes.
void EmitPasses(MatmulFrame& matmul, llvm::function_ref<void(llvm::Value* first)> stage, TakeSum take);

// The stages after the sum: a TakeSum. A vector requires that MatmulFrame::EmitWithLanes found it whole.
void EmitMatmulElement(MatmulFrame& matmul, llvm::Value* row, llvm::Value* column, llvm::Value* sum);

// The tile's dim size along which neighbouring threads take neighbouring elements: its columns, or its rows if outputs
// are contiguous along rows.
int FastDimSize(const MatmulFrame& matmul);

// Address of a slice's staged sum; `row` counts from the first row of the pass, `column` is in the tile; all i32.
// `slice` null: slice 0.
llvm::Value* StagedSum(MatmulFrame& matmul, llvm::Value* row, llvm::Value* column, llvm::Value* slice = nullptr);
// The same of column 8 * `eight` + `column` of slice 0, 0 <= column < 8. Addresses of all `eight` are one register or
// two, plus constants.
llvm::Value* StagedSumInEight(MatmulFrame& matmul, llvm::Value* row, int eight, llvm::Value* column);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_MATMUL_EPILOGUE_H_
