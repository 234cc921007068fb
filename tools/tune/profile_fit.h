// From times of micro-kernels to a cost profile (MikPoly section 3.3): fitting, ranking, keeping the best.
#ifndef TAILOR_TOOLS_TUNE_PROFILE_FIT_H_
#define TAILOR_TOOLS_TUNE_PROFILE_FIT_H_

#include <string>
#include <vector>

#include "codegen/contract/cost_profile.h"
#include "tools/tune/linear_pieces.h"

namespace tailor::tune {

// What tiles of one micro-kernel took, in nanoseconds for a tile.
struct TileTimes {
  int rows, panels;
  std::vector<DepthTime> fitted;    // what the fit sees
  std::vector<DepthTime> held_out;  // what it is compared with
};

struct TileFit {
  int rows, panels;
  LinearPieces pieces;        // the knee is CostProfile::kNearDepth
  double fit_error = 0;       // largest relative error at the fitted depths
  double held_out_error = 0;  // and at the others
};
std::vector<TileFit> FitTiles(const std::vector<TileTimes>& times);

// What a group of panels takes that comes from beyond the caches, in nanoseconds.
struct StreamTimes {
  int64_t depth;
  int row_panels;    // of a group that one row waits for
  double row;        // that long
  TileFit tile;      // of which two work on a group
  double two_tiles;  // that long
};
// Sets CostProfile::line and `hidden`: what one row takes, and what part of the second tile's time brings the next
// group in (equation 3 of the paper, with a part that overlaps).
void FitStream(const StreamTimes& times, CostProfile* profile);

// Dim sizes of matmuls that micro-kernels are ranked by.
struct MatmulSize {
  int64_t m, n, k;
};
// Every combination of powers of two, and of three times those: m in [1, 1024], n in [16, 1024], k in [64, 1024].
std::vector<MatmulSize> RankingSizes();

// For each fit, its speed over that of the fastest, in the mean over `sizes`: each computes a whole matmul by itself,
// in tiles of its full size (Pattern I with padding, figure 5 of the paper), as its line predicts.
std::vector<double> RankTiles(const std::vector<TileFit>& fits, const std::vector<MatmulSize>& sizes);

// `base` with the tiles of the `keep` highest `ranks` alone, as fitted; 0: all.
CostProfile ProfileOf(const CostProfile& base, const std::vector<TileFit>& fits, const std::vector<double>& ranks,
                      int keep);

// A row for each fit, the highest rank first: | 6x4 | fixed, near, far | errors | rank |.
std::string FitTable(const std::vector<TileFit>& fits, const std::vector<double>& ranks);

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_PROFILE_FIT_H_
