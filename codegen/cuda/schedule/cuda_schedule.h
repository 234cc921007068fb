// How a KernelPlan runs on a GPU: who does what, how many blocks, what memory. Printable.
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

// One way to run a plan: a kernel of its own, and the grid that a launch of it has.
struct CudaVersion {
  enum class Shape : uint8_t {
    kThreadPerElement,  // a grid-stride loop over the parallel axes; tile axes are loops of one thread
    kRows,              // `row_threads` neighbouring threads take a point of the parallel axes and share its tile axes
    kColumns,           // the lanes of a warp take neighbouring points, the warps of a block share their tile axes
    kTransposed,        // a block takes a tile of two axes, through shared memory (transpose_tiles.h)
    kMatmulTile,        // a block takes a tile of a matmul's result
    kAttentionTile,     // a block takes some rows of an attention's result
  };
  Version version;
  Shape shape = Shape::kThreadPerElement;
  int threads = 256;  // of a block
  // Blocks whose registers must fit a multiprocessor at the same time; 0: what the assembler makes of it.
  int resident_blocks = 0;
  int row_threads = 256;  // kRows: a part of a warp, a warp, or the whole block
  // Where they lie so in memory (which the kernel looks at), a thread takes so many neighbours along `lane_axis` at
  // once.
  int lanes = 1;
  int lane_axis = -1;
  // kRows, not 0: a thread has at most so many times `lanes` elements of its row. Where it takes vectors, no loop is
  // left over them and row buffers are registers.
  int turns = 0;
  SlotExpr blocks;
  SlotExpr clocks;        // DeviceLaunch::clocks
  SlotExpr shared_bytes;  // dynamic shared memory of a block
  // Global scratch of a block: its row buffers where they are not in shared memory. Of blocks that meet, of the launch.
  SlotExpr scratch_bytes;
  // Blocks take their work in turns, so that no more of them are launched than run at the same time: `resident_blocks`,
  // which is more than 0, of each multiprocessor (AStitch section 4.5).
  bool persistent = false;
  // Persistent, and the blocks meet at barriers of the whole grid: kRows and kColumns of which each point is cut into
  // `parts`, along its outermost tile axis, which are the blocks' work; kMatmulTile whose last tiles are cut along K
  // (stream_k.h) into parts of at least `parts` steps.
  bool cooperative = false;
  SlotExpr parts = 1;
  // Row buffers lie in the block's shared memory, else in global scratch.
  bool rows_in_shared = false;
  // Shared memory before the row buffers: for each reduction of a stage one 8-byte cell a warp, or, of columns, a
  // thread.
  int64_t partial_bytes = 0;
  MatmulTile tile;              // of kMatmulTile
  AttentionTile attention;      // of kAttentionTile
  std::vector<TensorMap> maps;  // DeviceKernel::maps

  // The parameters of the kernel.
  KernelSignature Signature(const KernelPlan& plan) const;

  std::string ShapeText() const;  // "32 threads per row, lanes 4"
  // Points of the parallel axes that a block has at hand at once.
  int points() const;
  std::string Text() const;  // "{shape rows, threads 256, ...}" (codegen/plan/record_text.h)
  friend bool operator==(const CudaVersion&, const CudaVersion&) = default;
};

inline const Version& GuardsOf(const CudaVersion& version) { return version.version; }

struct CudaSchedule {
  std::vector<CudaVersion> versions;  // chosen among as DeviceLaunch::clocks says; the last has no guards

  std::string Text() const;  // "[{threads 256, ...}]" (codegen/plan/record_text.h)
  friend bool operator==(const CudaSchedule&, const CudaSchedule&) = default;
};

// What CudaSchedule::Text writes. INVALID_ARGUMENT says what was expected, with line and column.
absl::StatusOr<CudaSchedule> ParseCudaSchedule(absl::string_view text);

// Versions of loops and rows (BladeDISC section 5.2.1; AStitch section 3.3 for rows that are many and short): void
// broadcasts or not, rows of a few threads, of a warp, or of a block. Loops that read along another axis than they
// write go through tiles. Where points are few and have many elements, several blocks share each. Requires a plan that
// is neither a contraction nor a chain.
CudaSchedule ScheduleCudaLoops(const KernelPlan& plan, const TargetTraits& traits);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_SCHEDULE_CUDA_SCHEDULE_H_
