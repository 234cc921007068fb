// What fusion and scheduling may know of a target: plain numbers, no names of instructions.
#ifndef TAILOR_FUSION_TARGET_TRAITS_H_
#define TAILOR_FUSION_TARGET_TRAITS_H_

#include <cstddef>
#include <cstdint>

namespace tailor {

// What one instruction does of a matmul in bf16, adding to f32 sums.
enum class BF16Matmuls : uint8_t {
  kConverted,  // nothing: factors become f32 first
  kPairs,      // each lane of a vector takes the products of two pairs of factors
  kTiles,      // 16 x 32 factors times 32 x 16, in registers of two dimensions
};

struct TargetTraits {
  int vector_bytes = 64;  // widest vector register
  int vector_registers = 32;
  bool fused_multiply_add = true;
  bool half_conversions = false;  // CPU: instructions convert f16 to f32 and back
  BF16Matmuls bf16_matmuls = BF16Matmuls::kConverted;
  int64_t regional_bytes = 512 << 10;  // scratch that stays in cache (CPU: L2) or on chip (GPU: shared memory)
  bool grid_barrier = false;           // global stitching inside one launch
  int64_t launch_cost_ns = 30;
  size_t most_tensors = SIZE_MAX;  // that a kernel of several nodes reads and writes
  bool row_blocks = true;          // a worker may run several kernels on rows that stay in its cache
  // The longest rows of factors with which two matmuls and a softmax between them become one kernel, which walks the
  // softmax's rows once (codegen/plan/attention.h); 0: they never do.
  int64_t joined_dim_size = 0;
  // One thread reads and writes a row, so that a kernel's output may lie in an operand's memory.
  bool rows_in_place = true;
  bool free_index_arithmetic = false;  // an index for each element costs no more than one for each vector
  bool winograd = true;                // there are kernels for Winograd convolutions
  bool pair_panels = true;             // bf16 weights are packed in pairs of rows (ConstantLayout::kPairPanels16)
  bool external_f16_gemm = false;      // external gemms take f16 too
  bool warpgroup_matmuls = false;      // GPU: warpgroups multiply matrices that lie in shared memory
  bool tf32_matmuls = false;           // GPU: operands of f32 matmuls may be rounded to tf32, for tensor cores
  // GPU: elements of a row that are worth a block of their own where there are too few rows for all blocks.
  int64_t part_elements = 4096;
};

}  // namespace tailor

#endif  // TAILOR_FUSION_TARGET_TRAITS_H_
