// Which micro-kernels a matmul needs. By the rule a dim size is cut into as few tiles as the limit allows, as even as
// possible: 10 rows in tiles of at most 6 are 5 + 5, for a lone last row would waste registers. That is patterns I, II
// and IV of MikPoly (figure 5) with micro-kernels of every size, where a region is at most one row or panel apart from
// the next; a launch may choose another cut (tiling_model.h; docs/decisions/tilings-are-chosen-by-cost.md).
#ifndef TAILOR_CODEGEN_CPU_TILING_TILE_SHAPES_H_
#define TAILOR_CODEGEN_CPU_TILING_TILE_SHAPES_H_

#include <set>
#include <utility>

#include "codegen/plan/contraction.h"
#include "codegen/plan/schedule.h"
#include "fusion/target_traits.h"

namespace tailor::gemm {

// Whether a micro-kernel's sums, kept operands and one passing operand fit the registers of `traits`; `pieces` of them
// hold 16 sums.
bool FitsRegisters(const TargetTraits& traits, int pieces, int rows, int panels);

// Rows and panels of the micro-kernel with the fewest loads per multiply-add that fits the registers.
std::pair<int, int> BestTile(const TargetTraits& traits, int pieces);

// Rows and panels of the tallest micro-kernel that still has two multiply-adds per load, at most nine rows: more of
// them contend for the ways of an L1 cache where rows are some power of two apart. {0, 0} if it is no taller than
// `tile`.
std::pair<int, int> TallestTile(const TargetTraits& traits, int pieces, const ContractionTile& tile);

// How many rows tiles may have where there are `m`: tall ones if one or two of them serve instead of more.
int RowLimit(const ContractionTile& tile, int64_t m);

// How many panels wide tiles of at most `rows` rows may be: tile.panels or, for tall ones, tile.tall_panels; more where
// few rows would leave less than eight independent chains of sums.
int PanelsForRows(const ContractionTile& tile, int pieces, int rows);

// Every (rows, panels) that occurs for some dim sizes in the given ranges, by the rule or by one of tile.tilings.
std::set<std::pair<int, int>> ReachableTiles(const DimSizeRange& m, const DimSizeRange& n, const ContractionTile& tile,
                                             int pieces);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_TILING_TILE_SHAPES_H_
