// Measured times of matmuls under different tilings, and their file format. Measuring takes minutes; classifiers are
// trained from the file.
#ifndef TAILOR_TOOLS_TUNE_TILING_TIMES_H_
#define TAILOR_TOOLS_TUNE_TILING_TIMES_H_

#include <string>
#include <vector>

#include "tools/tune/profile_fit.h"

namespace tailor::tune {

struct TilingTimes {
  std::vector<std::string> tilings;  // "rule": the default rule (tile_shapes.h); "6x4": tiles of 6 rows x 4 panels
  std::vector<MatmulSize> sizes;
  std::vector<std::vector<double>> times;  // by size, then tiling; nanoseconds, > 0
};

// Comma-separated lines: "m,n,k," and the tilings, then one line for each size.
std::string TilingTimesText(const TilingTimes& times);

// Appends the sizes and times of `text` to `out`. If `out` already has tilings, `text` must have the same ones. Returns
// "", or an error ("line 3: ...") with `out` unchanged.
std::string ParseTilingTimes(const std::string& text, TilingTimes* out);

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_TILING_TIMES_H_
