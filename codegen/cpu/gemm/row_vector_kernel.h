// Micro-kernels with rows in lanes (codegen/cpu/gemm/rows_in_lanes.h): the sums of two vectors of rows and some columns
// are in registers while K runs; the factors of the columns are broadcast.
#ifndef TAILOR_CODEGEN_CPU_GEMM_ROW_VECTOR_KERNEL_H_
#define TAILOR_CODEGEN_CPU_GEMM_ROW_VECTOR_KERNEL_H_

#include "codegen/cpu/gemm/micro_kernel.h"

namespace tailor::gemm {

// Columns whose sums, of two vectors of rows, fit the registers beside the operands: 32 registers of 16 lanes, else 16,
// which also hold the masks.
constexpr int MostColumnsOfRowVectors(int lanes, bool masks_rows) { return lanes == 16 ? 12 : masks_rows ? 5 : 6; }

// Emits the body of `function`, which is empty and has EmitMicroKernel's signature, with other meanings. Requires f32.
//   row_offsets   i64[2]: the first row of each vector, in elements from lhs at the first step of K
//   depth_stride  with tables i64[depth]: how far each step of K lies from the first one, in elements; else i64, one
//   step panel_stride  of the sums, from column to column tile          the sums of row 0 of the first column ahead
//   i64[3]: the first row of each vector and of what follows; a vector has no rows beyond the next first one resume
//   only with masks_rows
// Without masks_rows, what lies beyond a vector's rows is read in lhs, and overwritten in tile: the first vector first.
void EmitRowVectorKernel(const MicroKernel& kernel, const EmitTarget& target, llvm::Function* function);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_ROW_VECTOR_KERNEL_H_
