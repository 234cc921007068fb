// From times of micro-kernels to a cost profile (MikPoly section 3.3): fitting, ranking, keeping the best.
#ifndef TAILOR_TOOLS_TUNE_PROFILE_FIT_H_
#define TAILOR_TOOLS_TUNE_PROFILE_FIT_H_

#include <string>
#include <vector>

#include "codegen/contract/cost_profile.h"
#include "tools/tune/linear_pieces.h"

namespace tailor::tune {

// Measured times of one micro-kernel, in nanoseconds per tile.
struct TileTimes {
  int rows, panels;
  std::vector<DepthTime> fitted;    // for the fit
  std::vector<DepthTime> held_out;  // for its error
};

struct TileFit {
  int rows, panels;
  LinearPieces pieces;        // the knee is CostProfile::kNearDepth
  double fit_error = 0;       // largest relative error at the fitted depths
  double held_out_error = 0;  // at the held-out depths
};
std::vector<TileFit> FitTiles(const std::vector<TileTimes>& times);

// Times, in nanoseconds, of row tiles that read a group of panels from memory. A group is the panels of one tile.
struct StreamTimes {
  int64_t depth;
  int row_panels;    // panels per group of the one-row micro-kernel
  double row;        // one row on one group
  TileFit tile;      // the fit of the largest micro-kernel
  double two_tiles;  // two row tiles of it on one group
};
// Sets CostProfile::line and `hidden`: nanoseconds per cache line that comes from memory, and the share of the second
// tile's time that overlaps with fetching the next group (equation 3 of the paper, with overlap).
void FitStream(const StreamTimes& times, CostProfile* profile);

// Dim sizes of matmuls that micro-kernels are ranked by.
struct MatmulSize {
  int64_t m, n, k;
};
// Every combination of powers of two, and of three times those: m in [1, 1024], n in [16, 1024], k in [64, 1024].
std::vector<MatmulSize> RankingSizes();

// For each fit, its predicted speed relative to the fastest one, as the mean over `sizes`. Each micro-kernel computes
// whole matmuls in tiles of its full size (Pattern I with padding, figure 5 of the paper).
std::vector<double> RankTiles(const std::vector<TileFit>& fits, const std::vector<MatmulSize>& sizes);

// `base` with only the tiles of the `keep` highest `ranks`, as fitted; 0: all.
CostProfile ProfileOf(const CostProfile& base, const std::vector<TileFit>& fits, const std::vector<double>& ranks,
                      int keep);

// A row for each fit, the highest rank first: | 6x4 | fixed, near, far | errors | rank |.
std::string FitTable(const std::vector<TileFit>& fits, const std::vector<double>& ranks);

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_PROFILE_FIT_H_
