// Micro-kernels of matrix matmuls: functions that keep a tile of `rows` x `panels` x 16 accumulators in
// registers while K runs (MikPoly section 3.3).
//
// Every micro-kernel sums K ascending in one chain per element, so which of them computes an element never
// changes its bits. In bf16 K runs in pairs, as the panels hold them (PanelLayout): where the target multiplies
// pairs, both products of a step are added by one instruction, which takes subnormal numbers for zero.
#ifndef TAILOR_CODEGEN_CPU_GEMM_MICRO_KERNEL_H_
#define TAILOR_CODEGEN_CPU_GEMM_MICRO_KERNEL_H_

#include "codegen/contract/panels.h"
#include "codegen/scalar/scalar_ops.h"
#include "graph/dtype.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace tailor::gemm {

struct MicroKernel {
  int rows = 1;
  int panels = 1;
  int lanes = 16;  // of one register: 4, 8 or 16
  DType lhs = DType::kF32;
  DType rhs = DType::kF32;
  DType accumulate = DType::kF32;  // f32, f64 or an integer as wide, which wraps
  bool unit_depth_stride = true;   // neighbours along K lie side by side in the lhs
  bool tables = false;             // the lhs is found through tables of offsets; strides are not units then
  bool odd_depth = true;           // depth may be odd
  bool fetch_ahead = false;        // see below
};

// Adds to `module` the internal function
//   void @name(ptr lhs, i64 row_stride, i64 depth_stride, ptr rhs, i64 panel_stride, i64 depth, ptr tile, i1 resume,
//              ptr ahead, i64 ahead_stride, i64 ahead_step)
// which adds lhs[rows, depth] x rhs[panels][depth][16] to the sums in tile[rows][panels * 16], or to zeros when
// `resume` is false, and leaves the sums in the tile. Strides count elements; rhs and tile are 64-byte aligned.
// With tables the second and third parameter are ptr row_offsets, i64[rows], and ptr depth_offsets, i64[depth + 1]:
// the element of row r at k lies row_offsets[r] + depth_offsets[k] elements from lhs; the last entry may be anything.
// A rhs in bf16 is rhs[panels][ceil(depth / 2)][16][2]; the left one is of the same type then.
// With fetch_ahead it meanwhile asks for `panels` streams of memory, `ahead_stride` bytes apart, the first from
// `ahead` on, `ahead_step` bytes further at every k: for each line that they reach, at every step if a line is less.
// Any address will do. As many streams as panels keep a core's prefetchers busy, which follow each within its page; a
// single one reads two thirds as fast. Where bf16 is converted, which leaves no register for it, nothing is fetched.
llvm::Function* EmitMicroKernel(const MicroKernel& kernel, const EmitTarget& target, llvm::StringRef name,
                                llvm::Module& module);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_MICRO_KERNEL_H_
