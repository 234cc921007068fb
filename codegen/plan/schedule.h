// Schedule: how a KernelPlan runs on one kind of machine: lanes, tasks, tiles, versions. Printable.
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
    kDivides,        // slot's value mod number == 0
    kEqual,          // slot's value == other slot's value, or == number when other < 0
    kAtMost,         // slot's value <= number
    kAtLeast,        // slot's value >= number
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

// Of a version whose tasks are parts of rows, or of chunks of the lane axis (codegen/plan/row_parts.h): part by part in
// each of some phases.
struct PartTasks {
  SlotExpr count;  // parts of each row or chunk
  SlotExpr tasks;  // of a phase
  int phases = 1;
  uint32_t serial = 0;     // bit i: phase i has no loops, and one thread takes all of its tasks
  SlotExpr scratch_bytes;  // of the launch
  int axis = -1;           // along which they lie
  friend bool operator==(const PartTasks&, const PartTasks&) = default;
};

// One compiled body. Versions are tried in order; the last has no guards.
struct Version {
  std::vector<Guard> guards;
  bool no_broadcast = false;  // the guards say that no dim size under a broadcast is 1
  bool streams = false;       // whole vectors of the output are written past the caches
  std::optional<PartTasks> parts;
  friend bool operator==(const Version&, const Version&) = default;
};

// Adds those that the version does not have.
void AddGuards(absl::Span<const Guard> guards, Version& version);

std::string VersionText(const Version& version);  // "d0 >= 2 and d1 >= 2", "always"

// Where the plan has dim sizes that may be 1 under a broadcast: a version for when none is, and one for all else. Else
// one for all.
std::vector<Version> BroadcastVersions(const KernelPlan& plan);

// A way to cut a contraction into tiles and tasks. Each axis is cut into as few tiles as its limit allows: all of one
// size or one less, or, with `whole`, of the full size but for the last.
struct MatmulTiling {
  int rows = 1;    // of a tile, at most
  int panels = 1;  // of 16 columns, likewise
  bool whole_rows = false;
  bool whole_panels = false;
  int task_rows = 48;
  int task_panels = 4;
  // It is for products of so many rows only.
  int64_t least_m = 0;
  int64_t most_m = INT64_MAX;
  friend bool operator==(const MatmulTiling&, const MatmulTiling&) = default;
};

std::string TilingText(const MatmulTiling& tiling);  // "6x4 panels, task 48 rows x 4 panels"

// Tile of a contraction (codegen/cpu/gemm): rows x panels of 16 columns per micro-kernel, and the block of
// them that makes one task.
struct ContractionTile {
  int rows = 6;
  int panels = 4;
  // Where one or two tiles of so many rows, `tall_panels` wide, are fewer than those of `rows`, they are taken instead:
  // the panels are read less often. 0: never.
  int tall_rows = 0;
  int tall_panels = 0;
  int64_t task_rows = 96;
  int64_t task_panels = 16;
  int64_t depth = 1024;        // longest run of K between two visits to memory of the sums
  int64_t winograd_tiles = 0;  // > 0: by codegen/cpu/conv/winograd.h, so many tiles of the image at a time
  // Whether a launch chooses its cut once dim sizes are known (codegen/cpu/tiling/tiling_model.h): the rule's or one of
  // `cuts`. Then its argument block has one slot more, with the choice.
  bool chooses = false;
  std::vector<MatmulTiling> tilings;
  friend bool operator==(const ContractionTile&, const ContractionTile&) = default;
};

struct Schedule {
  int lanes = 1;  // elements per vector operation
  // Independent vectors in flight in a reduction. With cross_axis: columns of a square that straight code writes.
  int unroll = 1;
  // Tasks, each a row of at most `short_row` elements, that run side by side: while one's reduction ends, others go on.
  // Where the launch leaves the cache only the shortest do, for prefetchers follow one row better than several.
  // Where lanes run across rows: vectors of them that run side by side.
  int rows = 1;
  int64_t short_row = 0;
  // > 0: of rows that do not run side by side, the first stage runs in the loops of stage number `ahead` of the row
  // before.
  int ahead = 0;
  bool behind = false;     // the last stage runs in those of the row after
  int64_t block_rows = 0;  // > 0: of a chain, which runs so many rows at a time, while they are in cache
  int lane_axis = -1;      // the axis whose neighbours fill the lanes; -1: scalar code
  // Parallel lane axis: elements of it per task (0: all). Tasks number the other parallel axes times
  // the chunks of the lane axis.
  int64_t lane_chunk = 0;
  // Loops that load along another axis than the lanes', -1 in others: squares of both are transposed in registers. A
  // task has lane_chunk of the one by cross_chunk of the other.
  int cross_axis = -1;
  int64_t cross_chunk = 0;
  bool windows = false;  // reductions over windows, by blocks of results (codegen/cpu/loops/window_loops.h)
  ContractionTile tile;
  std::vector<Version> versions{1};
  // How many tasks a launch has, and how many one thread takes at a time. Splits depend on shapes alone.
  SlotExpr tasks;
  SlotExpr tasks_per_chunk;
  // Scratch of one worker in bytes (row buffers, each 64-byte aligned, of the rows that it works on), over slots
  // likewise.
  SlotExpr scratch_bytes;
  std::vector<Schedule> links;  // of a chain: over the slots of each link

  std::string Text() const;  // "{lanes 8, lane_axis 1, ...}" (codegen/plan/record_text.h)
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

// What Schedule::Text writes. INVALID_ARGUMENT says what was expected, with line and column.
absl::StatusOr<Schedule> ParseSchedule(absl::string_view text);

// Whether lanes are neighbours on a parallel axis: rows, one of each.
bool LanesAcrossRows(const KernelPlan& plan, const Schedule& schedule);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_SCHEDULE_H_
