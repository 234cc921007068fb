// How a KernelPlan runs on a GPU: shapes of work, grid, and memory. Printable.
#ifndef TAILOR_CODEGEN_CUDA_SCHEDULE_CUDA_SCHEDULE_H_
#define TAILOR_CODEGEN_CUDA_SCHEDULE_CUDA_SCHEDULE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/cuda/schedule/attention_tile.h"
#include "codegen/cuda/schedule/matmul_tile.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/kernel_signature.h"
#include "codegen/plan/schedule.h"
#include "fusion/target_traits.h"

namespace tailor::cuda {

inline constexpr int kWarp = 32;  // threads

// One way to run a plan: a kernel, and the grid of its launch.
struct CudaVersion {
  enum class Shape : uint8_t {
    kThreadPerElement,  // grid-stride loop over the parallel axes; tile axes are loops of one thread
    kRows,              // `row_threads` neighbouring threads take a point of the parallel axes and share its tile axes
    kColumns,           // the lanes of a warp take neighbouring points; the warps of a block share their tile axes
    kTransposed,        // a block takes a tile of two axes, through shared memory (transpose_tiles.h)
    kMatmulTile,        // a block takes a tile of a matmul's result
    kAttentionTile,     // a block takes some rows of an attention's result
  };
  Version version;
  Shape shape = Shape::kThreadPerElement;
  int threads = 256;  // of a block
  // Blocks that must be resident on a multiprocessor together, which bounds registers; 0: the assembler's choice.
  int resident_blocks = 0;
  int row_threads = 256;  // kRows: a part of a warp, a warp, or the whole block
  // A thread takes `lanes` neighbours along `lane_axis` at once, if they are contiguous and aligned (which the kernel
  // checks).
  int lanes = 1;
  int lane_axis = -1;
  // kRows, > 0: a thread has at most this many times `lanes` elements of its row. If it takes vectors, loops over them
  // are unrolled and row buffers are registers.
  int vectors_per_thread = 0;
  SlotExpr blocks;
  SlotExpr clocks;        // DeviceLaunch::clocks
  SlotExpr shared_bytes;  // dynamic shared memory of a block
  // Global scratch per block, for row buffers outside shared memory; of a cooperative version, per launch.
  SlotExpr scratch_bytes;
  // Blocks loop over their work, so no more are launched than can be resident: `resident_blocks` (> 0) per
  // multiprocessor (AStitch section 4.5).
  bool persistent = false;
  // Persistent, with barriers of the whole grid (a cooperative launch). kRows and kColumns: each point is split into
  // `parts` along its outermost tile axis, and blocks take parts. kMatmulTile: the last tiles are split along K
  // (stream_k.h) into parts of at least `parts` steps.
  bool cooperative = false;
  SlotExpr parts = 1;
  // Row buffers lie in the block's shared memory, else in global scratch.
  bool rows_in_shared = false;
  // Shared memory before the row buffers: one 8-byte cell per reduction of a stage and warp or, for kColumns, thread.
  int64_t partial_bytes = 0;
  MatmulTile tile;              // for kMatmulTile
  AttentionTile attention;      // for kAttentionTile
  std::vector<TensorMap> maps;  // DeviceKernel::maps

  // The parameters of the kernel.
  KernelSignature Signature(const KernelPlan& plan) const;

  std::string ShapeText() const;  // "32 threads per row, lanes 4"
  // Points of the parallel axes that a block processes at once.
  int points() const;
  std::string Text() const;  // "{shape rows, threads 256, ...}" (codegen/plan/record_text.h)
  friend bool operator==(const CudaVersion&, const CudaVersion&) = default;
};

inline const Version& GuardsOf(const CudaVersion& version) { return version.version; }

struct CudaSchedule {
  std::vector<CudaVersion> versions;  // the choice is DeviceLaunch::clocks'; the last has no guards

  std::string Text() const;  // "[{threads 256, ...}]" (codegen/plan/record_text.h)
  friend bool operator==(const CudaSchedule&, const CudaSchedule&) = default;
};

// Parses what CudaSchedule::Text writes. INVALID_ARGUMENT says what was expected, with line and column.
absl::StatusOr<CudaSchedule> ParseCudaSchedule(absl::string_view text);

// Versions of loops and rows (BladeDISC section 5.2.1; AStitch section 3.3 for many short rows): with and without the
// guard that no dim size under a broadcast is 1; rows of a few threads, of a warp, or of a block. Loops that read along
// another axis than they write use transposed tiles. If points are few and have many elements, several blocks share
// each. Requires a plan that is neither a contraction nor a chain.
CudaSchedule ScheduleCudaLoops(const KernelPlan& plan, const TargetTraits& traits);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_CUDA_SCHEDULE_H_
