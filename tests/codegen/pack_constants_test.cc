#include "codegen/pack_constants.h"

#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tailor {
namespace {

// Element (matrix, row, column) of the source holds this.
float At(int64_t matrix, int64_t row, int64_t column) { return 10000.0f * matrix + 100.0f * row + column + 1; }

std::vector<float> Matrices(int64_t batch, int64_t rows, int64_t columns, bool transposed) {
  std::vector<float> data;
  for (int64_t m = 0; m < batch; ++m) {
    for (int64_t i = 0; i < (transposed ? columns : rows); ++i) {
      for (int64_t j = 0; j < (transposed ? rows : columns); ++j)
        data.push_back(transposed ? At(m, j, i) : At(m, i, j));
    }
  }
  return data;
}

class PackPanelsTest : public ::testing::TestWithParam<bool> {};

TEST_P(PackPanelsTest, EveryElementHasItsPlaceAndTheRestIsZero) {
  const bool transposed = GetParam();
  for (int64_t columns : {1, 15, 16, 17, 40}) {
    const int64_t batch = 2, rows = 3;
    const std::vector<float> data = Matrices(batch, rows, columns, transposed);
    const PanelSource source{reinterpret_cast<const std::byte*>(data.data()), batch, rows, columns, 4, transposed};
    std::vector<float> packed(batch * source.panels() * rows * 16, -1.0f);
    const int64_t total = batch * source.panels();
    PackPanels(source, 0, 1, reinterpret_cast<std::byte*>(packed.data()));
    PackPanels(source, 1, total, reinterpret_cast<std::byte*>(packed.data()));
    for (int64_t i = 0; i < static_cast<int64_t>(packed.size()); ++i) {
      const int64_t lane = i % 16, row = i / 16 % rows, panel = i / 16 / rows % source.panels();
      const int64_t matrix = i / 16 / rows / source.panels(), column = panel * 16 + lane;
      ASSERT_EQ(packed[i], column < columns ? At(matrix, row, column) : 0.0f) << columns << " columns, at " << i;
    }
  }
}

TEST_P(PackPanelsTest, PairsOfRowsLieTogether) {
  const bool transposed = GetParam();
  for (int64_t rows : {1, 4, 5}) {
    for (int64_t columns : {1, 16, 21}) {
      const int64_t batch = 2, pairs = (rows + 1) / 2;
      const std::vector<float> numbers = Matrices(batch, rows, columns, transposed);
      const std::vector<uint16_t> data(numbers.begin(), numbers.end());
      PanelSource source{reinterpret_cast<const std::byte*>(data.data()), batch, rows, columns, 2, transposed};
      source.pairs = true;
      const int64_t total = batch * source.panels();
      ASSERT_EQ(source.panel_bytes(), pairs * 16 * 2 * 2);
      std::vector<uint16_t> packed(total * pairs * 32, 0xffff);
      PackPanels(source, 0, total, reinterpret_cast<std::byte*>(packed.data()));
      for (int64_t i = 0; i < static_cast<int64_t>(packed.size()); ++i) {
        const int64_t row = i / 32 % pairs * 2 + i % 2, panel = i / 32 / pairs % source.panels();
        const int64_t matrix = i / 32 / pairs / source.panels(), column = panel * 16 + i / 2 % 16;
        const bool inside = row < rows && column < columns;
        ASSERT_EQ(packed[i], inside ? static_cast<uint16_t>(At(matrix, row, column)) : 0) << "at " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Storage, PackPanelsTest, ::testing::Bool());

ConstantData Borrow(const std::vector<float>& data) { return {nullptr, data.data(), data.size() * 4}; }

TEST(PackConstants, ReferencesRowMajorAndPacksPanels) {
  const std::vector<float> weights = Matrices(1, 2, 3, false);
  const TensorType type{DType::kF32, {2, 3}};
  LoweredProgram program;
  program.constants = {{"w", type, Borrow(weights), ConstantLayout::kRowMajor, false},
                       {"w", type, Borrow(weights), ConstantLayout::kPanels16, false},
                       {"w", type, Borrow(weights), ConstantLayout::kPanels16, true}};
  auto packed = PackConstants(program, 2);
  ASSERT_TRUE(packed.ok()) << packed.status();
  const auto& constants = packed->constants;
  EXPECT_EQ(reinterpret_cast<const float*>(constants[0].bytes.data()), weights.data());
  EXPECT_EQ(constants[0].name, "w");
  EXPECT_EQ(constants[1].name, "w.2");
  EXPECT_THAT(constants[1].dims, ::testing::ElementsAre(2, 3));
  EXPECT_EQ(constants[1].bytes.size(), 2 * 16 * 4u);
  EXPECT_THAT(constants[2].dims, ::testing::ElementsAre(3, 2));
  EXPECT_EQ(constants[2].bytes.size(), 3 * 16 * 4u);
  const auto* transposed = reinterpret_cast<const float*>(constants[2].bytes.data());
  EXPECT_EQ(transposed[16], At(0, 0, 1));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(constants[1].bytes.data()) % 64, 0u);
}

}  // namespace
}  // namespace tailor
