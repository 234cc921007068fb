// Micro-kernels of matmuls of bf16, and of u8 by i8, for machines with tile registers (AMX), which hold 16 rows of 64
// bytes. One instruction multiplies 16 x 32 by 32 x 16 elements of bf16 and adds to 16 x 16 sums in f32; of bytes,
// 16 x 64 by 64 x 16 to sums in i32, which wrap. A panel in words (PanelLayout) is the rhs of that instruction as
// stored.
//
// K runs in blocks that begin at multiples of 32 (bytes: 64), whichever micro-kernel computes an element. Within a
// block of bf16 the instruction sums even and odd k separately, K ascending, and adds both to the sum. Subnormal
// numbers count as zero.
#ifndef TAILOR_CODEGEN_CPU_GEMM_TILE_KERNEL_H_
#define TAILOR_CODEGEN_CPU_GEMM_TILE_KERNEL_H_

#include "codegen/cpu/gemm/micro_kernel.h"
#include "codegen/ir/emit_target.h"

namespace tailor::gemm {

// The tile that fills the four registers of sums.
inline constexpr int kTileKernelRows = 32;
inline constexpr int kTileKernelPanels = 2;

// Whether `target` multiplies tiles where the rhs has dtype `rhs`. Not of bytes that are not contiguous along K:
// gathering them takes longer than dot products do.
constexpr bool MultipliesTiles(const EmitTarget& target, DType rhs, bool unit_depth_stride) {
  return (rhs == DType::kBF16 && target.bf16_matmuls == BF16Matmuls::kTiles) ||
         (rhs == DType::kI8 && target.integer_matmuls == IntegerMatmuls::kTiles && unit_depth_stride);
}

// Emits the body of `function`, which is empty and has EmitMicroKernel's signature and contract. At most 32 rows. With
// more panels than the registers hold, K runs once for each part of the panels. Prefetches nothing.
void EmitTileKernel(const MicroKernel& kernel, llvm::Function* function);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_TILE_KERNEL_H_
