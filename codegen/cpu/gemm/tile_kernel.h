// Micro-kernels of matmuls in bf16 for machines with tile registers: two-dimensional registers of 16 rows of 64 bytes,
// and an instruction that adds 16 x 32 factors times 32 x 16 to 16 x 16 sums in f32. A panel in pairs (PanelLayout) is
// the rhs of that instruction as it lies.
//
// K runs in blocks of 32 that begin at multiples of 32, whichever micro-kernel computes an element: within a block the
// instruction sums even and odd k apart, K ascending, and adds both to the sum. Subnormal numbers count as zero.
#ifndef TAILOR_CODEGEN_CPU_GEMM_TILE_KERNEL_H_
#define TAILOR_CODEGEN_CPU_GEMM_TILE_KERNEL_H_

#include "codegen/cpu/gemm/micro_kernel.h"

namespace tailor::gemm {

// What fills the four registers that hold sums.
inline constexpr int kTileKernelRows = 32;
inline constexpr int kTileKernelPanels = 2;

// As EmitMicroKernel does, to which it belongs, into the empty function `function` of that signature. Rows are at most
// 32; where panels are more than the registers hold, K runs once for each part of them. It fetches nothing ahead.
void EmitTileKernel(const MicroKernel& kernel, llvm::Function* function);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_GEMM_TILE_KERNEL_H_
