#include "codegen/driver/pack_constants.h"

#include <cstring>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tailor::driver {
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

// Words of 4 bytes hold as many rows of one column as fit.
template <typename Element>
void ExpectWords(bool transposed) {
  constexpr int kSteps = 4 / sizeof(Element);
  for (int64_t rows : {1, 4, 5, 7}) {
    for (int64_t columns : {1, 16, 21}) {
      const int64_t batch = 2, words = (rows + kSteps - 1) / kSteps;
      const std::vector<float> numbers = Matrices(batch, rows, columns, transposed);
      std::vector<Element> data;
      for (float number : numbers) data.push_back(static_cast<Element>(static_cast<int>(number)));
      PanelSource source{
          reinterpret_cast<const std::byte*>(data.data()), batch, rows, columns, sizeof(Element), transposed};
      source.word_rows = kSteps;
      const int64_t total = batch * source.panels();
      ASSERT_EQ(source.panel_bytes(), words * 16 * 4);
      std::vector<Element> packed(total * words * 16 * kSteps, static_cast<Element>(-1));
      PackPanels(source, 0, total, reinterpret_cast<std::byte*>(packed.data()));
      for (int64_t i = 0; i < static_cast<int64_t>(packed.size()); ++i) {
        const int64_t word = i / kSteps / 16 % words, row = word * kSteps + i % kSteps;
        const int64_t panel = i / kSteps / 16 / words % source.panels();
        const int64_t matrix = i / kSteps / 16 / words / source.panels(), column = panel * 16 + i / kSteps % 16;
        const bool inside = row < rows && column < columns;
        const float expected = inside ? At(matrix, row, column) : 0;
        ASSERT_EQ(packed[i], static_cast<Element>(static_cast<int>(expected))) << "at " << i;
      }
    }
  }
}

TEST_P(PackPanelsTest, WordsHoldConsecutiveRows) {
  ExpectWords<uint16_t>(GetParam());
  ExpectWords<int8_t>(GetParam());
}

// Of the weights of a channel and a column, point (u, v) of G g G^T.
double PointOf(const std::vector<float>& data, const PanelSource& source, int64_t matrix, int64_t channel,
               int64_t column, int64_t u, int64_t v) {
  constexpr double kG[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  double sum = 0;
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      const int64_t tap = i * 3 + j, channels = source.rows / 9;
      const int64_t row = source.taps_first ? tap * channels + channel : channel * 9 + tap;
      const int64_t element = source.transposed ? column * source.rows + row : row * source.columns + column;
      sum += kG[u][i] * kG[v][j] * data[matrix * source.rows * source.columns + element];
    }
  }
  return sum;
}

void ExpectPoints(bool transposed, bool taps_first) {
  for (int64_t channels : {1, 3}) {
    for (int64_t columns : {1, 16, 21}) {
      const int64_t batch = 2, rows = channels * 9;
      std::vector<float> data(batch * rows * columns);
      std::mt19937 random(5);
      std::normal_distribution<float> normal;
      for (float& weight : data) weight = normal(random);
      PanelSource source{reinterpret_cast<const std::byte*>(data.data()), batch, rows, columns, 4, transposed};
      source.winograd = true;
      source.taps_first = taps_first;
      const int64_t total = batch * 16 * source.panels();
      ASSERT_EQ(source.matrices(), batch * 16);
      ASSERT_EQ(source.panel_bytes(), channels * 16 * 4);
      std::vector<float> packed(total * channels * 16, -1.0f);
      PackPanels(source, 0, 7, reinterpret_cast<std::byte*>(packed.data()));
      PackPanels(source, 7, total, reinterpret_cast<std::byte*>(packed.data()));
      for (int64_t i = 0; i < static_cast<int64_t>(packed.size()); ++i) {  // [batch][4][4][panels][channels][16]
        const int64_t lane = i % 16, channel = i / 16 % channels, panel = i / 16 / channels % source.panels();
        const int64_t point = i / 16 / channels / source.panels() % 16,
                      matrix = i / 16 / channels / source.panels() / 16;
        const int64_t column = panel * 16 + lane;
        const double want =
            column < columns ? PointOf(data, source, matrix, channel, column, point / 4, point % 4) : 0.0;
        ASSERT_EQ(packed[i], static_cast<float>(want)) << channels << " x " << columns << ", at " << i;
      }
    }
  }
}

TEST_P(PackPanelsTest, WeightsOfWindowsBecomeTheirPoints) {
  ExpectPoints(GetParam(), /*taps_first=*/false);
  ExpectPoints(GetParam(), /*taps_first=*/true);
}

INSTANTIATE_TEST_SUITE_P(Storage, PackPanelsTest, ::testing::Bool());

ConstantData Borrow(const std::vector<float>& data) { return {nullptr, data.data(), data.size() * 4}; }

TEST(PackConstants, ReferencesRowMajorAndPacksPanels) {
  const std::vector<float> weights = Matrices(1, 2, 3, false);
  const TensorType type{DType::kF32, {2, 3}};
  lower::LoweredProgram program;
  program.constants = {{"w", type, Borrow(weights), ConstantLayout::kRowMajor, false},
                       {"w", type, Borrow(weights), ConstantLayout::kPanels16, false},
                       {"w", type, Borrow(weights), ConstantLayout::kPanels16, true}};
  auto packed = PackConstants(program, 2, [](double) { return absl::OkStatus(); });
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

TEST(PackConstants, ReportsAfterEachMiBAndEndsWhereThatFails) {
  constexpr int64_t kRows = 4096, kColumns = 512;  // 8 MiB
  const std::vector<float> weights(kRows * kColumns, 1);
  lower::LoweredProgram program;
  program.constants = {{"w", {DType::kF32, {kRows, kColumns}}, Borrow(weights), ConstantLayout::kPanels16, false}};
  std::vector<double> done;
  const auto keep = [&](double share) { return done.push_back(share), absl::OkStatus(); };
  ASSERT_TRUE(PackConstants(program, 2, keep).ok());
  EXPECT_EQ(done.size(), 8u);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), 1);
  const auto cancel = [](double) { return absl::CancelledError("enough"); };
  EXPECT_EQ(PackConstants(program, 2, cancel).status(), absl::CancelledError("enough"));
}

TEST(PackConstants, PointsOfWeightsKeepTheirDims) {
  const std::vector<float> weights = Matrices(1, 18, 3, true);  // [3, 18]
  const TensorType type{DType::kF32, {1, 3, 18}};
  lower::LoweredProgram program;
  program.constants = {{"w", type, Borrow(weights), ConstantLayout::kWinogradPanels16, true},
                       {"w", type, Borrow(weights), ConstantLayout::kPanels16, true}};
  const auto packed = PackConstants(program, 2, [](double) { return absl::OkStatus(); });
  ASSERT_TRUE(packed.ok()) << packed.status();
  const ProgramConstant& points = packed->constants[0];
  EXPECT_EQ(points.name, "w");
  EXPECT_EQ(points.layout, ConstantLayout::kWinogradPanels16);
  EXPECT_THAT(points.dims, ::testing::ElementsAre(1, 18, 3));
  ASSERT_EQ(points.bytes.size(), 16 * 2 * 16 * 4u);
  const auto* elements = reinterpret_cast<const float*>(points.bytes.data());
  EXPECT_EQ(elements[16 + 2], At(0, 9, 2));                  // the first point: the first of nine
  EXPECT_EQ(elements[(15 * 2 + 1) * 16 + 2], At(0, 17, 2));  // and the last
  EXPECT_EQ(packed->constants[1].name, "w.2");
  EXPECT_EQ(packed->constants[1].bytes.size(), 18 * 16 * 4u);
}

}  // namespace
}  // namespace tailor::driver
