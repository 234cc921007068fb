// Micro-kernels of few columns on AVX-512: lanes run along rows (MicroKernel::squares).
//
// A tile of 16 rows by few columns, one row at a time, multiplies vectors of which most lanes are padding, and loads an
// element of the lhs for each. Here squares of 16 rows by 16 steps of K are transposed in registers: of each step one
// vector has the elements of all rows, and a column's factor is an operand in memory that the multiply-add broadcasts.
// Per square of 256 elements: 16 loads, 64 shuffles, 16 multiply-adds for each column.
#ifndef TAILOR_CODEGEN_CPU_GEMM_SQUARE_KERNEL_H_
#define TAILOR_CODEGEN_CPU_GEMM_SQUARE_KERNEL_H_

#include "codegen/cpu/gemm/micro_kernel.h"
#include "codegen/cpu/gemm/lhs_operand.h"

namespace tailor::gemm {

// Rows of a square, and the fewest of a tile for which squares pay.
inline constexpr int kSquareRows = 16, kLeastSquareRows = 9;
inline constexpr int kMostSquareColumns = 10;

// Whether the tiles of `plan`, of one panel, may be squares: f32, at most kMostSquareColumns columns, rows of the lhs
// contiguous in memory, registers of 16 lanes.
bool TakesSquares(const KernelPlan& plan, const Contraction& contraction, const LhsForm& form, int lanes);

// Emits the body of `function`, which is empty and has EmitMicroKernel's signature and contract.
void EmitSquareKernel(const MicroKernel& kernel, llvm::Function* function);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_SQUARE_KERNEL_H_
