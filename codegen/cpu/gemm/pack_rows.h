// Packs rows of the lhs: the block that a task multiplies is copied tile by tile, so that a micro-kernel finds the
// factors of each step of K beside each other, and the steps one after another.
#ifndef TAILOR_CODEGEN_CPU_GEMM_PACK_ROWS_H_
#define TAILOR_CODEGEN_CPU_GEMM_PACK_ROWS_H_

#include "codegen/cpu/tiling/even_tiling.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/schedule.h"
#include "graph/dtype.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::gemm {

struct LhsForm;

// Whether packing may pay: for a matmul whose results lie along rows, as those of convolutions do, with many columns
// and a long K. The stride along K is then a plane of the image: in large images each step reads another page, and the
// lines map to few sets of L1.
bool MayPackRows(const KernelPlan& plan, const Contraction& c, const LhsForm& form);

// The rows to pack.
struct RowsToPack {
  DType dtype;
  int lanes;
  llvm::Value* address;        // of the task's first row at the first step; with tables: that offsets are relative to
  llvm::Value* depth_stride;   // in elements, of rows along memory
  llvm::Value* row_offsets;    // with tables, as micro-kernels have them (MicroKernel::tables): i64 per row; else null
  llvm::Value* depth_offsets;  // i64 per step
  llvm::Value* rows;           // that may be read, from the first one on
  llvm::Value* depth;          // steps
};

// Packs the tiles [first_tile, last_tile) of `tiling`, of at most `lanes` rows each, to `to`. Element (r, k) of a tile
// of `size` rows, whose first is row `start` of the task, is element start * (depth + lanes) + k * size + r.
void EmitPackRows(llvm::IRBuilderBase& b, const RowsToPack& from, const EvenTiling& tiling, llvm::Value* first_tile,
                  llvm::Value* last_tile, llvm::Value* to);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_PACK_ROWS_H_
