// How one block of threads computes a part of an attention plan (codegen/plan/attention.h).
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_ATTENTION_TILE_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_ATTENTION_TILE_H_

#include <cstdint>
#include <string>

namespace tailor::cuda {

// A block takes `rows` rows of one batch index and all columns of the result, and walks the keys in steps of `keys`,
// for which the rows of both right factors lie in shared memory, in one of `stages` parts: where there are two, the
// next step is on its way to the other. Each warp has 16 rows and, of every step, the keys of one of `slices` slices;
// its scores, exponentials and sums stay in registers. At the end the slices' sums become one.
struct AttentionTile {
  enum class Kind : uint8_t {
    kMatrix,       // warps multiply matrices on tensor cores: f16 and bf16
    kMultiplyAdd,  // threads multiply elements: f32
  };
  static constexpr int kWarpRows = 16;
  Kind kind = Kind::kMatrix;
  int rows = 64;
  int keys = 64;
  int slices = 1;
  int stages = 2;
  bool skips = false;          // steps of keys that a mask hides from all rows (masked_keys.h) are not multiplied
  int depth = 0, columns = 0;  // rows of factors, in elements; multiples of 16, for kMultiplyAdd columns of 32

  int warps() const { return rows / kWarpRows * slices; }
  int threads() const { return 32 * warps(); }
  int warp_keys() const { return keys / slices; }
  int element_bytes() const { return kind == Kind::kMatrix ? 2 : 4; }
  std::string Text() const;  // "attention 64 rows x 64 keys of 64 and 64", "... in 4 slices"
  friend bool operator==(const AttentionTile&, const AttentionTile&) = default;
};

// In shared memory, bytes between neighbouring rows of factors: an odd number of chunks of 16, so that the chunks of
// eight neighbouring rows, which are read at once, lie in different banks.
inline int StagedRowBytes(int elements, int element_bytes) { return elements * element_bytes + 16; }
// Floats between rows of weights, likewise, and of the result.
inline int StagedWeightRow(const AttentionTile& tile) { return tile.warp_keys() + 4; }
inline int StagedResultRow(const AttentionTile& tile) { return tile.columns + 8; }

// The parts of shared memory, in bytes from its beginning. The steps come first, each the keys' rows, then the values'.
int StageBytes(const AttentionTile& tile);
// The left factor's rows: on tensor cores, which have them in registers before the second step comes, in its place.
int QueryOffset(const AttentionTile& tile);
// kMultiplyAdd: the weights of each warp, which its lanes exchange.
int WeightOffset(const AttentionTile& tile);
int WarpWeightBytes(const AttentionTile& tile);
// Behind all that, where `skips`: a word for each warp, which together decide.
int VoteOffset(const AttentionTile& tile);
// Reusing all that, the slices' maxima and sums of each row, two floats, and then the result.
int ResultOffset(const AttentionTile& tile);
// Behind the result, where `skips`: a word for each thread (MaskedValues).
int MaskedValuesOffset(const AttentionTile& tile);
int64_t SharedBytes(const AttentionTile& tile);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_ATTENTION_TILE_H_
