// Schedule: how a KernelPlan runs on one target: lanes, tasks, tiles, versions. Printable.
#ifndef TAILOR_CODEGEN_PLAN_SCHEDULE_H_
#define TAILOR_CODEGEN_PLAN_SCHEDULE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/slot_expr.h"
#include "fusion/target_traits.h"

namespace tailor {

// A condition on dim slots under which a version may run.
struct Guard {
  enum class Kind : uint8_t {
    kDivides,        // value of `slot` mod number == 0
    kEqual,          // value of `slot` == value of `other`, or == number if other < 0
    kAtMost,         // value of `slot` <= number
    kAtLeast,        // value of `slot` >= number
    kOutgrowsCache,  // `value` bytes >= RtContext::streamed_bytes, unless that is 0
    kValueAtLeast,   // `value` >= number
    kValueAtMost,    // `value` <= number
  };
  Kind kind;
  int32_t slot = -1;
  int32_t other = -1;
  int64_t number = 0;
  SlotExpr value;

  std::string Text() const;  // "d0 >= 2", "d0 mod 16 == 0", "4*d0*d1 bytes outgrow the cache"
  static absl::StatusOr<Guard> Parse(absl::string_view text);
  friend bool operator==(const Guard&, const Guard&) = default;
};

// The tasks of a version that splits rows, or chunks of the lane axis, into parts (codegen/plan/row_parts.h). They run
// in phases, each over all parts.
struct PartTasks {
  SlotExpr count;  // parts per row or chunk
  SlotExpr tasks;  // per phase
  int phases = 1;
  uint32_t serial = 0;     // bit i: phase i is serial: it has no loops, and one thread runs all its tasks
  SlotExpr scratch_bytes;  // per launch
  int axis = -1;           // the split axis
  friend bool operator==(const PartTasks&, const PartTasks&) = default;
};

// One compiled body. Versions are tried in order; the last has no guards.
struct Version {
  std::vector<Guard> guards;
  bool no_broadcast = false;  // the guards imply that no dim size under a broadcast is 1
  bool streams = false;       // streaming stores for whole vectors of the output
  // Lanes run across rows, whose elements are transposed in registers (codegen/cpu/loops/short_rows.h).
  bool short_rows = false;
  bool packs_rows = false;  // contractions (codegen/cpu/gemm/pack_rows.h)
  std::optional<PartTasks> parts;
  friend bool operator==(const Version&, const Version&) = default;
};

// Adds the guards that `version` lacks.
void AddGuards(absl::Span<const Guard> guards, Version& version);

std::string VersionText(const Version& version);  // "d0 >= 2 and d1 >= 2", "always"

// If the plan has dim sizes under a broadcast: a version for when none is 1, and a general one. Else one general
// version.
std::vector<Version> BroadcastVersions(const KernelPlan& plan);

// A tiling of a contraction. Each axis has as few tiles as its limit allows. Even tiling: tiles of one size or one
// less; `whole`: full tiles except the last.
struct MatmulTiling {
  int rows = 1;    // largest tile rows
  int panels = 1;  // largest tile panels of 16 columns
  bool whole_rows = false;
  bool whole_panels = false;
  int task_rows = 48;
  int task_panels = 4;
  // The range of m for which it is a candidate.
  int64_t least_m = 0;
  int64_t most_m = INT64_MAX;
  friend bool operator==(const MatmulTiling&, const MatmulTiling&) = default;
};

std::string TilingText(const MatmulTiling& tiling);  // "6x4 panels, task 48 rows x 4 panels"

// Tiles of a contraction (codegen/cpu/gemm): rows x panels of 16 columns per micro-kernel, and the block of tiles that
// is one task.
struct ContractionTile {
  static constexpr int64_t kAllPanels = int64_t{1} << 40;  // task_panels of a chain's matmul

  int rows = 6;
  int panels = 4;
  // If one or two tiles of `tall_rows` x `tall_panels` cover m with fewer tiles than `rows` do, they are used: panels
  // are then read less often. 0: never.
  int tall_rows = 0;
  int tall_panels = 0;
  int64_t task_rows = 96;
  int64_t task_panels = 16;
  int64_t depth = 1024;  // K block: steps of K for which sums stay in registers
  // Few columns: lanes run along rows, and the factors of the columns are broadcast (codegen/cpu/gemm/rows_in_lanes.h).
  bool rows_in_lanes = false;
  // Few columns: tiles of more than eight rows transpose squares of the lhs (codegen/cpu/gemm/square_kernel.h).
  bool squares = false;
  // The tile of versions whose tasks pack the rows of the lhs that they multiply; 0: there are none.
  int packed_rows = 0;
  int packed_panels = 0;
  bool packs_rows() const { return packed_rows > 0; }
  // Tasks copy the rows of the lhs that they multiply (codegen/cpu/gemm/copy_rows.h). split_words: widened to i16.
  bool copies_rows = false;
  bool split_words = false;
  bool keeps_rows() const { return packs_rows() || copies_rows; }  // in scratch
  int64_t winograd_tiles = 0;  // > 0: Winograd (codegen/cpu/conv/winograd.h), this many image tiles at a time
  // Whether a launch chooses its tiling at run time (codegen/cpu/tiling/tiling_model.h): the default or one of
  // `tilings`. Its argument block then has one more slot, with the choice.
  bool chooses = false;
  std::vector<MatmulTiling> tilings;
  friend bool operator==(const ContractionTile&, const ContractionTile&) = default;
};

// The schedule of one kernel. A version may differ only in the fields of Version.
struct Schedule {
  int lanes = 1;  // elements per vector operation
  // Independent vector accumulators of a reduction. With cross_axis: unrolled columns of a transposed square.
  int unroll = 1;
  // Rows per task that run interleaved, each of at most `max_interleaved_elements` elements: while one row's reduction
  // ends, others proceed. In launches that exceed the cache only very short rows are interleaved, since prefetchers
  // follow one row better than several. If lanes run across rows: interleaved vectors of rows.
  int interleaved_rows = 1;
  int64_t max_interleaved_elements = 0;
  // Software-pipelined rows. > 0, for rows that are not interleaved: the first stage of the next row runs in the loops
  // of stage `overlap_stage` of this one. Only for rows of at most `max_overlap_elements` elements (0: any), which L1
  // holds beside each other.
  int overlap_stage = 0;
  int64_t max_overlap_elements = 0;
  bool defer_last_stage = false;  // the last stage of a row runs in the loops of the next row
  int64_t block_rows = 0;         // > 0: rows per block of a chain, sized to stay in cache
  int lane_axis = -1;             // the axis that the lanes run along; -1: scalar code
  // Parallel lane axis: elements per task (0: all). Tasks enumerate the other parallel axes times the chunks of the
  // lane axis.
  int64_t lane_chunk = 0;
  // The axis that loads are contiguous along, if not the lane axis; -1: none. Squares of both axes are transposed in
  // registers. A task has lane_chunk elements of the lane axis by cross_chunk of this one.
  int cross_axis = -1;
  int64_t cross_chunk = 0;
  bool windows = false;  // window reductions by blocks of results (codegen/cpu/loops/window_loops.h)
  ContractionTile tile;
  // Number of blocks that tasks divide the rows of a contraction into (Winograd: the rows of supertiles). It depends on
  // the number of workers and is an argument of the kernel. 0: ceil(m / tile.task_rows).
  SlotExpr row_blocks;
  std::vector<Version> versions{1};
  // Tasks per launch, and tasks per chunk, which a thread takes at a time.
  SlotExpr tasks;
  SlotExpr tasks_per_chunk;
  // Scratch bytes per thread: row buffers, each 64-byte aligned, of the rows that it works on.
  SlotExpr scratch_bytes;
  std::vector<Schedule> links;  // chains: over the slots of each link

  std::string Text() const;  // "{lanes 8, lane_axis 1, ...}" (codegen/plan/record_text.h)
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

// Parses the output of Schedule::Text. INVALID_ARGUMENT names the expected token, line and column.
absl::StatusOr<Schedule> ParseSchedule(absl::string_view text);

// The schedule of a contraction's version `version` alone: its tile is that of packed rows if the version packs rows,
// and has none otherwise.
Schedule OfVersion(const Schedule& schedule, size_t version);

// Whether lanes run along a parallel axis: each lane is another row.
bool LanesAcrossRows(const KernelPlan& plan, const Schedule& schedule);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_SCHEDULE_H_
