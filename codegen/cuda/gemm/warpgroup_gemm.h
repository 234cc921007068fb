// The warpgroup gemm: f16 or bf16 matmuls on the tensor cores of sm_90a, in blocks that take one tile after another.
// Producer warps keep a ring of stages in shared memory filled (warpgroup_producer.h). Consumer warpgroups multiply the
// stages (wgmma), each some rows of the tile, and run the epilogue while the next tile's first stages arrive.
#ifndef TAILOR_CODEGEN_CUDA_GEMM_WARPGROUP_GEMM_H_
#define TAILOR_CODEGEN_CUDA_GEMM_WARPGROUP_GEMM_H_

#include "codegen/cuda/gemm/matmul_frame.h"

namespace tailor::cuda {

// Emits the kernel's body, except for its return. Requires a tile of Kind::kWarpgroup.
void EmitWarpgroupMatmul(MatmulFrame& matmul);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_GEMM_WARPGROUP_GEMM_H_
