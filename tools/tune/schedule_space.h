// The schedules of a matmul in f32 that fit a machine: the space that tuning searches (TSCompiler section 5.1).
#ifndef TAILOR_TOOLS_TUNE_SCHEDULE_SPACE_H_
#define TAILOR_TOOLS_TUNE_SCHEDULE_SPACE_H_

#include "codegen/plan/schedule.h"
#include "fusion/target_traits.h"
#include "tools/tune/plain_matmul.h"
#include "tools/tune/search_space.h"

namespace tailor::tune {

struct CacheGeometry {
  int64_t l1_bytes = 32 << 10;
  int l1_ways = 8;
  int64_t l2_bytes = 512 << 10;
};
// The caches of this machine as the system reports them, else the defaults.
CacheGeometry ThisMachinesCaches();

// Whether rows x panels sums in f32, the operands that are kept and one that is streamed fit the registers.
bool FitsRegisters(const TargetTraits& traits, int rows, int panels);

// Parameters: rows and panels of tiles and of tall ones, row tiles and panels of a task, the depth block.
//
// Hard constraints exclude a schedule if
// - a micro-kernel's sums and operands, or the addresses of its rows, exceed the registers;
// - the rows of the lhs that a tile reads side by side, and a streamed line, exceed the ways of a set of the L1 cache;
// - the data that a task reuses exceeds the L2 cache;
// - sums that wait for the next depth block exceed half of the L1 cache, or the space that the code reserves for them.
//
// Soft constraints add a penalty: fewer than two multiply-adds for each load; a number of rhs panels that the panels of
// a tile do not divide; the amount of code, in micro-kernels.
//
// `form` has both dim sizes.
SearchSpace ScheduleSpace(const MatmulForm& form, const TargetTraits& traits, const CacheGeometry& caches);

ContractionTile TileOf(const Assignment& values);
Assignment AssignmentOf(const ContractionTile& tile);

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_SCHEDULE_SPACE_H_
