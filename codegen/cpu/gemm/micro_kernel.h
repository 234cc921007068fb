// Micro-kernels of matmuls: functions that keep a tile of `rows` x `panels` x 16 accumulators in registers while K runs
// (MikPoly section 3.3).
//
// Every micro-kernel sums K ascending, in one chain per element, so the choice of micro-kernel never changes an
// element's bits. In bf16, i16 and i8 K runs in words of two or four steps, as the panels
// hold them (PanelLayout). Where the target multiplies pairs of bf16, one instruction adds both products; it takes
// subnormal numbers for zero. All targets multiply pairs of i16. With VNNI one instruction adds the two products of
// i16, or the four of u8 and i8, to an i32, which wraps; else bytes are widened to i16 (split_words).
#ifndef TAILOR_CODEGEN_CPU_GEMM_MICRO_KERNEL_H_
#define TAILOR_CODEGEN_CPU_GEMM_MICRO_KERNEL_H_

#include <compare>
#include <string>

#include "codegen/contract/panels.h"
#include "codegen/scalar/scalar_ops.h"
#include "graph/dtype.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace tailor::gemm {

struct MicroKernel {
  friend auto operator<=>(const MicroKernel&, const MicroKernel&) = default;

  int rows = 1;
  int panels = 1;
  int lanes = 16;               // of one register: 4, 8 or 16
  int columns = kPanelColumns;  // of the last panel that are multiplied, from its first on: whole registers
  DType lhs = DType::kF32;
  DType rhs = DType::kF32;
  DType accumulate = DType::kF32;  // f32, f64 or an integer as wide, which wraps
  bool unit_depth_stride = true;   // elements along K are contiguous in the lhs; with tables: those of each word
  bool tables = false;             // the lhs is addressed by tables of offsets
  bool packed_rows = false;        // the lhs is a packed tile (codegen/cpu/gemm/pack_rows.h), and strides are ignored
  bool whole_words = false;        // depth is a multiple of word_steps()
  // The lhs is split rows (codegen/cpu/gemm/copy_rows.h): bytes widened to i16, in words of two.
  bool split_words = false;
  bool fetch_ahead = false;  // see below
  bool rhs_rows = false;     // the rhs is rows of a tensor, see below
  // Lanes run along rows; what differs says codegen/cpu/gemm/row_vector_kernel.h. A tile is two vectors of rows times
  // `columns` columns, any number of one panel.
  bool rows_in_lanes = false;
  // Few columns: squares of the lhs are transposed in registers (codegen/cpu/gemm/square_kernel.h). `columns` may be
  // any number. Tiles of 9 to 16 rows, which are the third argument.
  bool squares = false;
  // Registers that hold the sums.
  int sums() const { return rows * ((panels - 1) * kPanelColumns + columns) / lanes; }
  // Steps of K in a word of the rhs, which are multiplied together; 1: the rhs has no words.
  int word_steps() const { return StepsPerWord(PanelLayout(rhs), rhs); }
  // With rows_in_lanes: sums beyond a vector's rows are kept, and lhs is not read there.
  bool masks_rows = false;
};

// Steps of K in an iteration of the main loop; a block of several shares one update of the addresses. Tiles with many
// sums have few instructions beside their multiply-adds, the addresses of many rows do not fit the registers, and
// widening or separate additions take those of sums. docs/decisions/avx2-machines.md.
int StepsPerBlock(const MicroKernel& kernel, const EmitTarget& target);

// The name of its function, distinct for distinct micro-kernels: "micro_f32_f32_f32_16_6x4_strided_ahead". One function
// serves squares of any number of rows.
std::string NameOf(const MicroKernel& kernel);

// Adds to `module` a declaration of the function, unless it has one.
llvm::Function* DeclareMicroKernel(const MicroKernel& kernel, llvm::Module& module);

// Adds to `module` the function
//   void @name(ptr lhs, i64 row_stride, i64 depth_stride, ptr rhs, i64 rhs_stride, i64 depth, ptr tile, i1 resume,
//              ptr ahead, i64 ahead_stride, i64 ahead_step)
// which adds lhs[rows, depth] x rhs[panels][depth][16] to the sums in tile[rows][panels * 16] (to zeros if `resume` is
// false) and stores the sums in the tile. Of the last panel's 16 columns only the first `columns` are computed. Strides
// count elements; rhs and tile are 64-byte aligned. Kernels call it from other modules: one definition serves all
// matmuls of a target.
//
// Tables: the second and third parameter are ptr row_offsets, i64[rows], and ptr depth_offsets, i64[depth + 1]. The
// element of row r at k lies row_offsets[r] + depth_offsets[k] elements from lhs; the last entry may be arbitrary.
//
// rhs_stride is that of panels. rhs_rows: it is that of K; rhs[depth][panels * 16], aligned as one element is.
//
// bf16, i16 or i8 rhs: rhs[panels][ceil(depth / s)][16][s], with s = word_steps(), zero from `depth` on; the lhs then
// has its dtype, but u8 for i8.
//
// fetch_ahead: prefetches `panels` streams, `ahead_stride` bytes apart, the first from `ahead` on, by `ahead_step`
// bytes per k: once per line, or at every step if a step (with blocks, four steps) is more than a line; not in
// the steps after the last whole block. Any address is legal. One stream per
// panel keeps a core's prefetchers busy, which follow each stream within its page; a single stream reads at two thirds
// of the speed. Where bf16 is converted no register is left for it, and nothing is prefetched.
void EmitMicroKernel(const MicroKernel& kernel, const EmitTarget& target, llvm::Module& module);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_MICRO_KERNEL_H_
