// Measured times of matmuls under different tilings, as a file: measuring takes minutes, learning from the file
// takes no time.
#ifndef TAILOR_TOOLS_TUNE_TILING_TIMES_H_
#define TAILOR_TOOLS_TUNE_TILING_TIMES_H_

#include <string>
#include <vector>

#include "tools/tune/profile_fit.h"

namespace tailor::tune {

struct TilingTimes {
  std::vector<std::string> tilings;  // "rule" is the compiler's own; others are tiles: "6x4"
  std::vector<MatmulSize> sizes;
  std::vector<std::vector<double>> times;  // by size, then tiling; nanoseconds, > 0
};

// Comma-separated lines: "m,n,k," and the tilings, then one line for each size.
std::string TilingTimesText(const TilingTimes& times);

// Appends the sizes of `text` to `out`, whose tilings, if there are any, must be the same. Returns "", or an error
// ("line 3: ...") with `out` unchanged.
std::string ParseTilingTimes(const std::string& text, TilingTimes* out);

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_TILING_TIMES_H_
