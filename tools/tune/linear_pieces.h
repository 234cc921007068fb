// A time that is piecewise linear in K, fitted to measurements (MikPoly section 3.3).
#ifndef TAILOR_TOOLS_TUNE_LINEAR_PIECES_H_
#define TAILOR_TOOLS_TUNE_LINEAR_PIECES_H_

#include <vector>

namespace tailor::tune {

struct DepthTime {
  double depth;
  double time;  // > 0
};

// fixed + near_step * min(depth, knee) + far_step * max(depth - knee, 0), in the unit of DepthTime::time
struct LinearPieces {
  double fixed = 0, near_step = 0, far_step = 0;
  double knee = 0;

  double At(double depth) const;
};

// Minimizes the sum of squared relative errors at `points` over coefficients >= 0. A coefficient that the points do not
// determine is 0: depths on one side of the knee do not determine the other side.
LinearPieces FitLinearPieces(const std::vector<DepthTime>& points, double knee);

// The largest relative error of `pieces` at `points`.
double WorstError(const LinearPieces& pieces, const std::vector<DepthTime>& points);

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_LINEAR_PIECES_H_
