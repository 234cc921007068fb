// Micro-kernels with rows in lanes (codegen/cpu/gemm/rows_in_lanes.h): the sums of two vectors of rows and some columns
// are in registers while K runs; the factors of the columns are broadcast.
#ifndef TAILOR_CODEGEN_CPU_GEMM_ROW_VECTOR_KERNEL_H_
#define TAILOR_CODEGEN_CPU_GEMM_ROW_VECTOR_KERNEL_H_

#include "codegen/cpu/gemm/micro_kernel.h"

namespace tailor::gemm {

// Columns whose sums, of two vectors of rows, fit the registers beside the operands: 32 registers of 16 lanes, else 16,
// which also hold the masks.
constexpr int MostColumnsOfRowVectors(int lanes, bool masks_rows) { return lanes == 16 ? 12 : masks_rows ? 5 : 6; }

// Emits the body of `function`, which is empty and has EmitMicroKernel's signature. Requires f32. Its arguments:
// - row_offsets, i64[2]: where each vector's first row begins at the first step of K, in elements from lhs.
// - depth_stride: with tables, i64[depth], where each step of K lies relative to the first; else i64, one step.
// - rhs: the first column of the pass, in a panel of rhs[depth][16].
// - panel_stride: of the sums, from column to column, in elements.
// - tile: the sums of the first column, from the task's first row on.
// - ahead, i64[3]: the first row of each vector, and where the second one ends; a vector has at most `lanes` rows.
// - resume: may be true with masks_rows only.
//
// Without masks_rows, lanes beyond a vector's rows are read in lhs, and stored to tile: vectors are stored in order, so
// that the next one overwrites them.
void EmitRowVectorKernel(const MicroKernel& kernel, const EmitTarget& target, llvm::Function* function);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_ROW_VECTOR_KERNEL_H_
