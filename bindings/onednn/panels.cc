#include "panels.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tailor_onednn {
namespace {

constexpr int64_t kColumns = 16;

}  // namespace

std::vector<std::byte> Unpacked(const tailor_product& product) {
  const bool pairs = product.rhs_layout == TAILOR_PAIR_PANELS_16;
  const int64_t bytes = product.dtype == TAILOR_BF16 ? 2 : 4;
  std::vector<std::byte> plain(product.batch * product.k * product.n * bytes);
  for (int64_t b = 0; b < product.batch; ++b) {
    const auto* panel = static_cast<const std::byte*>(product.rhs) + b * product.rhs_strides[0] * bytes;
    std::byte* matrix = plain.data() + b * product.k * product.n * bytes;
    const int64_t panel_rows = pairs ? (product.k + 1) / 2 * 2 : product.k;
    for (int64_t first = 0; first < product.n; first += kColumns, panel += panel_rows * kColumns * bytes) {
      const int64_t width = std::min(kColumns, product.n - first);
      for (int64_t row = 0; row < product.k; ++row) {
        std::byte* to = matrix + (row * product.n + first) * bytes;
        if (!pairs) {
          std::memcpy(to, panel + row * kColumns * bytes, width * bytes);
          continue;
        }
        const std::byte* from = panel + (row / 2 * kColumns * 2 + row % 2) * bytes;
        for (int64_t c = 0; c < width; ++c) std::memcpy(to + c * bytes, from + 2 * c * bytes, bytes);
      }
    }
  }
  return plain;
}

}  // namespace tailor_onednn
