// Measured times of matmuls under different cuts, as data that is kept: measuring takes minutes, learning from it
// nothing.
#ifndef TAILOR_TOOLS_TUNE_TILING_TIMES_H_
#define TAILOR_TOOLS_TUNE_TILING_TIMES_H_

#include <string>
#include <vector>

#include "tools/tune/profile_fit.h"

namespace tailor::tune {

struct TilingTimes {
  std::vector<std::string> tilings;  // "rule" is the compiler's own; others are tiles: "6x4"
  std::vector<MatmulSize> sizes;
  std::vector<std::vector<double>> times;  // by size and then cut, in nanoseconds, > 0
};

// Comma-separated lines: "m,n,k," and the cuts, then one for each size.
std::string TilingTimesText(const TilingTimes& times);

// Appends the sizes that `text` has to `out`, whose cuts, if there are any, are the same. Returns what is wrong
// ("line 3: ..."), or "". `out` is unchanged then.
std::string ParseTilingTimes(const std::string& text, TilingTimes* out);

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_TILING_TIMES_H_
