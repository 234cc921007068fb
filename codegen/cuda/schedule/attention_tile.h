// The part of an attention plan (codegen/plan/attention.h) that one block computes.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_ATTENTION_TILE_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_ATTENTION_TILE_H_

#include <cstdint>
#include <string>

namespace tailor::cuda {

// A block takes `rows` rows of one batch index and all columns of the result. It loops over the keys in steps of
// `keys`, whose key and value rows are in shared memory, in one of `stages` stages; with two stages the next step is in
// flight. Each warp has 16 rows and, of every step, the keys of one of `slices` slices. Scores, exponentials and sums
// stay in registers. At the end the slices' sums are combined.
struct AttentionTile {
  enum class Kind : uint8_t {
    kMma,   // warps, on tensor cores: f16 and bf16
    kSimt,  // threads, by single multiply-adds: f32
  };
  static constexpr int kWarpRows = 16;
  Kind kind = Kind::kMma;
  int rows = 64;
  int keys = 64;
  int slices = 1;
  int stages = 2;
  bool skips = false;          // steps of keys that a mask excludes from all rows (masked_keys.h) are not multiplied
  int depth = 0, columns = 0;  // elements per row of Q and K, and of V; multiples of 16, for kSimt columns of 32

  int warps() const { return rows / kWarpRows * slices; }
  int threads() const { return 32 * warps(); }
  int warp_keys() const { return keys / slices; }
  int element_bytes() const { return kind == Kind::kMma ? 2 : 4; }
  // Whether the usual forms need no more than the 168 registers per thread of three blocks on a multiprocessor.
  bool is_narrow() const { return kind == Kind::kMma && depth + columns <= 128 && !skips; }
  std::string Text() const;  // "attention 64 rows x 64 keys of 64 and 64", "... in 4 slices"
  friend bool operator==(const AttentionTile&, const AttentionTile&) = default;
};

// Bytes between rows of factors in shared memory: an odd number of 16-byte chunks. So chunks of eight neighbouring
// rows, which are read at once, lie in different banks.
inline int StagedRowBytes(int elements, int element_bytes) { return elements * element_bytes + 16; }
// Floats between rows of weights, and of the result, padded likewise.
inline int StagedWeightRow(const AttentionTile& tile) { return tile.warp_keys() + 4; }
inline int StagedResultRow(const AttentionTile& tile) { return tile.columns + 8; }

// Byte offsets in shared memory. The stages come first, each the key rows, then the value rows.
int StageBytes(const AttentionTile& tile);
// The query rows. kMma: they overlap the second stage, since they are in registers before it is filled.
int QueryOffset(const AttentionTile& tile);
// kSimt: the weights of each warp, which its lanes exchange.
int WeightOffset(const AttentionTile& tile);
int WarpWeightBytes(const AttentionTile& tile);
// After these, with `skips`: one word per warp, for votes.
int VoteOffset(const AttentionTile& tile);
// Reuses the memory of all of these: the maximum and the total (two floats) of each slice and row, then the result.
int ResultOffset(const AttentionTile& tile);
// After the result, with `skips`: one word per thread (MaskedValues).
int MaskedValuesOffset(const AttentionTile& tile);
int64_t SharedBytes(const AttentionTile& tile);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_ATTENTION_TILE_H_
