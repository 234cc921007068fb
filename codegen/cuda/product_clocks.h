// What a product's tile costs on a GPU, so that the cheapest of a family is taken.
#ifndef TAILOR_CODEGEN_CUDA_PRODUCT_CLOCKS_H_
#define TAILOR_CODEGEN_CUDA_PRODUCT_CLOCKS_H_

#include "codegen/cuda/product_tile.h"
#include "graph/dim_expr.h"

namespace tailor {

// The clocks that a multiprocessor spends on one tile of K = `depth`, as long as it has other blocks to run while one
// waits (TSCompiler section 6): a step of K is as long as what is slowest of multiplying, reading shared memory and
// reading the second-level cache; before the first step and after the last, operands come and the sums leave. The rates
// are those that NVIDIA publishes of sm_80, and of sm_90 for products of warpgroups. They decide between tiles alone:
// what all tiles need, as the memory's bandwidth, is not counted. Of kMatrix, kMultiplyAdd and kWarpgroup.
DimExpr ProductClocks(const ProductTile& tile, const ProductTypes& types, const DimExpr& depth);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CUDA_PRODUCT_CLOCKS_H_
