// The properties of a target that fusion and scheduling use: plain numbers, no instruction names.
#ifndef TAILOR_FUSION_TARGET_TRAITS_H_
#define TAILOR_FUSION_TARGET_TRAITS_H_

#include <cstddef>
#include <cstdint>

namespace tailor {

// How a CPU target multiplies bf16 matrices; sums are f32.
enum class BF16Matmuls : uint8_t {
  kConverted,  // no bf16 instruction: operands are converted to f32
  kPairs,      // dot products of bf16 pairs per f32 lane (AVX512-BF16)
  kTiles,      // 16 x 32 by 32 x 16 in tile registers (AMX)
};

// How a CPU target multiplies matrices of i16, or of u8 by i8; sums are i32.
enum class IntegerMatmuls : uint8_t {
  kPairs,        // pairs of i16 per lane, whose sum takes another instruction; bytes are widened to i16
  kDotProducts,  // one instruction adds the products of two i16, or of four bytes, to a lane (VNNI)
  kTiles,        // as kDotProducts, and bytes 16 x 64 by 64 x 16 in tile registers (AMX)
};

// Defaults: a CPU with 64-byte vectors.
struct TargetTraits {
  int vector_bytes = 64;  // widest vector register
  int vector_registers = 32;
  bool fused_multiply_add = true;
  bool half_conversions = false;  // CPU: instructions convert f16 to f32 and back
  BF16Matmuls bf16_matmuls = BF16Matmuls::kConverted;
  IntegerMatmuls integer_matmuls = IntegerMatmuls::kPairs;
  int64_t regional_bytes = 512 << 10;    // scratch that stays in cache (CPU: L2) or on chip (GPU: shared memory)
  size_t max_kernel_tensors = SIZE_MAX;  // limit on inputs plus outputs of a kernel of several nodes
  bool row_blocks = true;                // one thread may run a chain of kernels on a block of rows that stays in cache
  // The largest row length of the factors with which two matmuls and the softmax between them become one online-softmax
  // kernel (codegen/plan/attention.h). 0: never.
  int64_t max_attention_row = 0;
  // One thread reads and writes a row, so that a kernel's output may alias an operand.
  bool rows_in_place = true;
  // A kernel may serve several constant dim sizes (codegen/lower/share_kernels.h): it costs little speed.
  bool share_kernels = true;
  bool free_index_arithmetic = false;  // an index per element costs no more than one per vector
  bool interleave_rows = true;         // a loop may compute several rows side by side
  bool pack_short_rows = true;         // rows shorter than a vector may share vectors
  bool choose_tilings = true;          // a launch may choose the tiling of a matmul by its cost, not by the rule alone
  bool winograd = true;                // has kernels for Winograd convolutions
  bool images_channels_last = true;    // images may be channels last (fusion/image_layouts.h)
  // Reading a matrix along a dim whose elements are pages apart is slow (they share sets of L1 and exceed the TLB):
  // where a matmul would read such a lhs often, it copies it to a staging buffer first.
  bool stage_strided_lhs = true;
  // Matmul kernels read their rhs in panels: constants are stored in panels, other rhs are packed by a kernel of their
  // own. Else they read it row-major, as it is in memory.
  bool packed_rhs = true;
  // With packed_rhs: a matmul of at most this many rows makes the panels of a rhs that is not constant itself, which is
  // one pass over the rhs instead of three; short rows of a rhs are read in place at any number. 0: neither.
  int64_t most_rows_in_place = 0;
  // Batch indices of a matmul that share a rhs may be rows of one matmul, though indices of other tensors then take
  // divisions.
  bool merge_rows = false;
  // Panels of f16 and bf16 have the XOR swizzle of device memory (HasXorSwizzle), and a session converts constants.
  // Else they are those of the artifact (PanelLayout).
  bool device_panels = false;
  bool external_f16_gemm = false;  // external gemms support f16
  bool warpgroup_matmuls = false;  // GPU: warpgroup gemms of matrices in shared memory
  bool tf32_matmuls = false;       // GPU: operands of f32 matmuls may be rounded to tf32 (tensor cores)
  // GPU: row elements per block, where a row is split because there are fewer rows than blocks.
  int64_t elements_per_part = 4096;
};

}  // namespace tailor

#endif  // TAILOR_FUSION_TARGET_TRAITS_H_
