#include "exec/cuda/device_panels.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tailor {
namespace {

constexpr int kColumns = 16;

// Element (k, n) of a matrix of `n_dim_size` columns, as 16 bits.
uint16_t Number(int k, int n) { return static_cast<uint16_t>(100 * k + n); }

// Panels of [k, n] as an artifact has them.
std::vector<uint16_t> Panels(int k_dim_size, int n_dim_size, bool pairs) {
  const int step = pairs ? 2 : 1;
  std::vector<uint16_t> panels;
  for (int first_column = 0; first_column < n_dim_size; first_column += kColumns) {
    for (int first = 0; first < k_dim_size; first += step) {
      for (int column = first_column; column < first_column + kColumns; ++column) {
        for (int k = first; k < first + step; ++k) {
          panels.push_back(k < k_dim_size && column < n_dim_size ? Number(k, column) : 0);
        }
      }
    }
  }
  return panels;
}

std::vector<uint16_t> OnDevice(DType dtype, ConstantLayout layout, int k, int n, const std::vector<uint16_t>& held) {
  std::vector<std::byte> made;
  const auto bytes = BytesOnDevice({"w", dtype, {k, n}, layout, std::as_bytes(std::span(held))}, &made);
  const auto* words = reinterpret_cast<const uint16_t*>(bytes.data());
  return {words, words + bytes.size() / sizeof(uint16_t)};
}

TEST(DevicePanels, NoBytesStayNoneWhateverTheDims) {
  std::vector<std::byte> made;
  for (const int64_t rows : {int64_t{1} << 62, int64_t{0}}) {
    EXPECT_TRUE(BytesOnDevice({"w", DType::kF16, {rows, 0}, ConstantLayout::kPanels16, {}}, &made).empty());
  }
}

TEST(DevicePanels, HalvesOfEverySecondFourRowsChangePlaces) {
  constexpr int kDepth = 11, kWidth = 20;
  for (const bool pairs : {false, true}) {
    const auto layout = pairs ? ConstantLayout::kWordPanels16 : ConstantLayout::kPanels16;
    const auto dtype = pairs ? DType::kBF16 : DType::kF16;
    const std::vector<uint16_t> words = OnDevice(dtype, layout, kDepth, kWidth, Panels(kDepth, kWidth, pairs));
    ASSERT_EQ(words.size(), 2u * kDepth * kColumns);
    for (int n = 0; n < kWidth; ++n) {
      for (int k = 0; k < kDepth; ++k) {
        const int place = (n % kColumns + (k / 4 % 2 == 1 ? 8 : 0)) % kColumns;
        EXPECT_EQ(words[(n / kColumns * kDepth + k) * kColumns + place], Number(k, n)) << k << ", " << n;
      }
    }
  }
}

TEST(DevicePanels, OtherConstantsStayAsTheyAre) {
  std::vector<uint16_t> held(5 * kColumns);
  std::iota(held.begin(), held.end(), uint16_t{0});
  EXPECT_EQ(OnDevice(DType::kI16, ConstantLayout::kPanels16, 5, kColumns, held), held);
  EXPECT_EQ(OnDevice(DType::kBF16, ConstantLayout::kRowMajor, 5, kColumns, held), held);
}

TEST(DevicePanels, ArePlainRowByRow) {
  constexpr int kDepth = 13, kWidth = 37;
  const std::vector<uint16_t> words =
      OnDevice(DType::kF16, ConstantLayout::kPanels16, kDepth, kWidth, Panels(kDepth, kWidth, false));
  std::vector<uint16_t> plain(kDepth * kWidth);
  UnpackPanels(std::as_bytes(std::span(words)).data(), DType::kF16, kDepth, kWidth,
               std::as_writable_bytes(std::span(plain)).data());
  for (int k = 0; k < kDepth; ++k) {
    for (int n = 0; n < kWidth; ++n) EXPECT_EQ(plain[k * kWidth + n], Number(k, n)) << k << ", " << n;
  }
}

}  // namespace
}  // namespace tailor
