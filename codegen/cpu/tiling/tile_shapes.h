// The micro-kernels that a matmul needs. The rule: a dim size is split into the fewest tiles that the limit allows, as
// even as possible. 10 rows in tiles of at most 6 are 5 + 5, as a single last row would waste registers. These are
// patterns I, II and IV of MikPoly (figure 5) with micro-kernels of every size: neighbouring regions differ by at most
// one row or panel. A launch may choose another tiling (tiling_model.h; docs/decisions/tilings-are-chosen-by-cost.md).
#ifndef TAILOR_CODEGEN_CPU_TILING_TILE_SHAPES_H_
#define TAILOR_CODEGEN_CPU_TILING_TILE_SHAPES_H_

#include <set>
#include <utility>

#include "codegen/plan/contraction.h"
#include "codegen/plan/schedule.h"
#include "fusion/target_traits.h"

namespace tailor::gemm {

constexpr int kMostBestPanels = 4;  // of a tile that the rule takes

// Rows of a tile of one and a half panels, of eight lanes: twelve sums, three registers of a row of panels and one
// broadcast element take all sixteen registers. A step of K has 7 loads for 12 multiply-adds; tiles of 6 x 16
// and 6 x 8 have 8 for 12 and 7 for 6.
constexpr int kRowsOfOneAndAHalf = 4;

// Whether a micro-kernel's sums, kept operands and one streaming operand fit the registers of `traits`. `pieces`:
// registers per 16 sums.
bool FitsRegisters(const TargetTraits& traits, int pieces, int rows, int panels);

// Registers of `lanes` per panel: as many as its 16 columns, or those that exist where n is less, take.
int PiecesOf(const DimSizeRange& n, int lanes);

// Rows and panels of the micro-kernel with the fewest loads per multiply-add, of those that fit the registers and have
// at most `most_panels`. A single panel that is one register wide takes more rows, for independent chains of sums.
std::pair<int, int> BestTile(const TargetTraits& traits, int pieces, int most_panels = kMostBestPanels);

// Rows and panels of the tallest micro-kernel that still has two multiply-adds per load, at most nine rows. More rows
// would contend for the ways of an L1 cache where rows are a power of two apart. {0, 0} if it is no taller than `tile`.
std::pair<int, int> TallestTile(const TargetTraits& traits, int pieces, const ContractionTile& tile);

// The tile for packed rows. Whatever its height, the factors of a step of K share one or two lines, so the tallest tile
// of two panels that fits the registers is best: it reads the panels, which do not fit L1, least often. `tile` if no
// such tile is taller.
std::pair<int, int> PackedTile(const TargetTraits& traits, int pieces, const ContractionTile& tile);

// Row limit of the tiles of `m` rows: tall tiles if one or two of them replace more tiles of tile.rows.
int RowLimit(const ContractionTile& tile, int64_t m);

// Panel limit of tiles with at most `rows` rows: tile.panels, or tile.tall_panels for tall tiles. More where few rows
// would leave less than eight independent chains of sums.
int PanelsForRows(const ContractionTile& tile, int pieces, int rows);

// Every (rows, panels) that the rule or one of tile.tilings needs for some dim sizes in the given ranges.
std::set<std::pair<int, int>> ReachableTiles(const DimSizeRange& m, const DimSizeRange& n, const ContractionTile& tile,
                                             int pieces);

}  // namespace tailor::gemm

#endif  // TAILOR_CODEGEN_CPU_TILING_TILE_SHAPES_H_
