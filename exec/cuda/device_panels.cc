#include "exec/cuda/device_panels.h"

#include <algorithm>
#include <cstring>

namespace tailor {
namespace {

constexpr size_t kColumns = 16, kHalf = kColumns / 2;

bool IsSwizzledRow(size_t k) { return k / 4 % 2 == 1; }

// Stores row k of a panel, `row`, with its halves swapped if the swizzle of `dtype` requires it.
void Store(DType dtype, const uint16_t* row, size_t k, std::byte* to) {
  const size_t first = HasXorSwizzle(dtype) && IsSwizzledRow(k) ? kHalf : 0;
  std::memcpy(to, row + first, kHalf * sizeof(uint16_t));
  std::memcpy(to + kHalf * sizeof(uint16_t), row + (kHalf - first), kHalf * sizeof(uint16_t));
}

}  // namespace

std::span<const std::byte> BytesOnDevice(const ProgramConstant& constant, std::vector<std::byte>* made) {
  constexpr size_t kRow = kColumns * sizeof(uint16_t);
  const bool pairs = constant.layout == ConstantLayout::kPairPanels16;
  if (!pairs && (constant.layout != ConstantLayout::kPanels16 || !HasXorSwizzle(constant.dtype))) return constant.bytes;
  if (constant.bytes.empty()) return constant.bytes;  // other dims may overflow if one is 0
  const auto steps = static_cast<size_t>(constant.dims[constant.dims.size() - 2]);
  const size_t held = pairs ? (steps + 1) / 2 * 2 : steps,
               panels = held == 0 ? 0 : constant.bytes.size() / (held * kRow);
  made->resize(panels * steps * kRow);
  const std::byte* from = constant.bytes.data();
  std::byte* to = made->data();
  for (size_t panel = 0; panel < panels; ++panel, from += held * kRow) {
    for (size_t k = 0; k < steps; ++k, to += kRow) {
      uint16_t both[2 * kColumns], row[kColumns];
      if (pairs) {  // [ceil(K/2)][16][2]
        std::memcpy(both, from + k / 2 * 2 * kRow, sizeof(both));
        for (size_t column = 0; column < kColumns; ++column) row[column] = both[2 * column + k % 2];
      } else {
        std::memcpy(row, from + k * kRow, sizeof(row));
      }
      Store(constant.dtype, row, k, to);
    }
  }
  return *made;
}

void UnpackPanels(const std::byte* panels, DType dtype, int64_t k, int64_t n, std::byte* plain) {
  const auto element = static_cast<size_t>(SizeOf(dtype)), columns = static_cast<size_t>(n);
  for (size_t first = 0; first < columns; first += kColumns) {
    for (size_t row = 0; row < static_cast<size_t>(k); ++row, panels += kColumns * element) {
      for (size_t half = 0; half < kColumns && first + half < columns; half += kHalf) {
        const size_t place = HasXorSwizzle(dtype) && IsSwizzledRow(row) ? kHalf - half : half;
        std::memcpy(plain + (row * columns + first + half) * element, panels + place * element,
                    std::min(kHalf, columns - first - half) * element);
      }
    }
  }
}

}  // namespace tailor
