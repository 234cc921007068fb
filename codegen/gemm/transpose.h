// In IR: a square of a matrix, transposed through registers.
#ifndef TAILOR_CODEGEN_GEMM_TRANSPOSE_H_
#define TAILOR_CODEGEN_GEMM_TRANSPOSE_H_

#include "llvm/IR/IRBuilder.h"

namespace tailor {

// A matrix of `element`s in memory, `stride` elements from row to row. Rows begin at multiples of `align` bytes.
struct Matrix {
  llvm::Type* element;
  llvm::Value* address;
  llvm::Value* stride;
  llvm::Align align;
};

// Emits to[j][i] = from[i][j] for i, j < `size`, a power of two: in log2(size) steps of `size` shuffles of two
// registers each, where `size` elements fill a register.
void EmitTranspose(llvm::IRBuilderBase& b, int size, const Matrix& from, const Matrix& to);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_GEMM_TRANSPOSE_H_
