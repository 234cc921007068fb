#include "exec/cuda/device_panels.h"

#include <algorithm>
#include <cstring>

#include "codegen/contract/panels.h"

namespace tailor {
namespace {

constexpr size_t kColumns = 16, kHalf = kColumns / 2;

bool IsSwizzledRow(size_t k) { return k / 4 % 2 == 1; }

// Stores row k of a panel, `row` of `bytes` bytes, with its halves swapped if the swizzle of `dtype` requires it.
void Store(DType dtype, const std::byte* row, size_t bytes, size_t k, std::byte* to) {
  const size_t half = bytes / 2, first = HasXorSwizzle(dtype) && IsSwizzledRow(k) ? half : 0;
  std::memcpy(to, row + first, half);
  std::memcpy(to + half, row + (half - first), half);
}

}  // namespace

std::span<const std::byte> BytesOnDevice(const ProgramConstant& constant, std::vector<std::byte>* made) {
  const bool words = constant.layout == ConstantLayout::kWordPanels16;
  if (!words && (constant.layout != ConstantLayout::kPanels16 || !HasXorSwizzle(constant.dtype))) return constant.bytes;
  if (constant.bytes.empty()) return constant.bytes;  // other dims may overflow if one is 0
  const auto element = static_cast<size_t>(SizeOf(constant.dtype)), row_bytes = kColumns * element;
  const int word = StepsPerWord(constant.layout, constant.dtype);
  const auto together = static_cast<size_t>(word);
  const auto steps = static_cast<size_t>(constant.dims[constant.dims.size() - 2]);
  const auto held = static_cast<size_t>(WholeWords(constant.dims[constant.dims.size() - 2], word));
  const size_t panels = held == 0 ? 0 : constant.bytes.size() / (held * row_bytes);
  made->resize(panels * steps * row_bytes);
  const std::byte* from = constant.bytes.data();
  std::byte* to = made->data();
  std::vector<std::byte> row(row_bytes);
  for (size_t panel = 0; panel < panels; ++panel, from += held * row_bytes) {
    for (size_t k = 0; k < steps; ++k, to += row_bytes) {
      const std::byte* first = from + k / together * together * row_bytes;  // the word of column 0
      for (size_t column = 0; column < kColumns; ++column) {
        const size_t place = column * together + k % together;
        std::memcpy(row.data() + column * element, first + place * element, element);
      }
      Store(constant.dtype, row.data(), row_bytes, k, to);
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
