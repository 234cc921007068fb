// Emits transposes of square matrices in registers.
#ifndef TAILOR_CODEGEN_IR_TRANSPOSE_SQUARE_H_
#define TAILOR_CODEGEN_IR_TRANSPOSE_SQUARE_H_

#include <vector>

#include "llvm/IR/IRBuilder.h"

namespace tailor {

// rows[j][i] = rows[i][j]. `rows` has one vector per row; their number is a power of two and equals the vector length.
// Cost: log2(size) steps of `size` two-register shuffles, if a row fills a register.
void TransposeSquare(llvm::IRBuilderBase& b, std::vector<llvm::Value*>& rows);

// A matrix of `element`s in memory. `stride`: elements from row to row. Rows are aligned to `align` bytes.
struct Matrix {
  llvm::Type* element;
  llvm::Value* address;
  llvm::Value* stride;
  llvm::Align align;
};

// Emits to[j][i] = from[i][j] for i, j < `size`, a power of two.
void EmitTranspose(llvm::IRBuilderBase& b, int size, const Matrix& from, const Matrix& to);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_IR_TRANSPOSE_SQUARE_H_
