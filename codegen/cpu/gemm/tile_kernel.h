// Micro-kernels of bf16 matmuls for machines with tile registers (AMX), which hold 16 rows of 64 bytes. One instruction
// multiplies 16 x 32 by 32 x 16 elements and adds to 16 x 16 sums in f32. A panel in pairs (PanelLayout) is the rhs of
// that instruction as stored.
//
// K runs in blocks of 32 that begin at multiples of 32, whichever micro-kernel computes an element. Within a block the
// instruction sums even and odd k separately, K ascending, and adds both to the sum. Subnormal numbers count as zero.
#ifndef TAILOR_CODEGEN_CPU_GEMM_TILE_KERNEL_H_
#define TAILOR_CODEGEN_CPU_GEMM_TILE_KERNEL_H_

#include "codegen/cpu/gemm/micro_kernel.h"

namespace tailor::gemm {

// The tile that fills the four registers of sums.
inline constexpr int kTileKernelRows = 32;
inline constexpr int kTileKernelPanels = 2;

// Emits the body of `function`, which is empty and has EmitMicroKernel's signature and contract. At most 32 rows. With
// more panels than the registers hold, K runs once for each part of the panels. Prefetches nothing.
void EmitTileKernel(const MicroKernel& kernel, llvm::Function* function);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_TILE_KERNEL_H_
