// In IR: what follows a product on a GPU: the plan's later stages over sums that pass through shared memory, so that
// neighbouring threads have neighbouring elements of the outputs, whatever fragments the main loop leaves.
#ifndef TAILOR_CODEGEN_CUDA_PRODUCT_EPILOGUE_H_
#define TAILOR_CODEGEN_CUDA_PRODUCT_EPILOGUE_H_

#include "codegen/cuda/product_frame.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tailor {

// Emits, for each pass of ProductTile::pass_rows rows of the block's tile: `stage(first)`, which leaves the sums of
// rows first, first + 1, ... (i32, of the tile) at StagedSum, and the stages that follow the sum for all its elements
// that exist. All threads of the product's team must arrive; what they exchange sums through is the epilogue's from
// here on.
void EmitProductEpilogue(ProductFrame& product, llvm::function_ref<void(llvm::Value* first)> stage);

// Where a slice's sum of `row`, counted from the first of the pass, and `column` of the tile is staged; all i32.
// Without a slice: of the first.
llvm::Value* StagedSum(ProductFrame& product, llvm::Value* row, llvm::Value* column, llvm::Value* slice = nullptr);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CUDA_PRODUCT_EPILOGUE_H_
