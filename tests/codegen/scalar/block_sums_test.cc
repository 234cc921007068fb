// The error of sums stays within the bounds of docs/ops.md at any number of elements: on every device under test, for
// every float type and axis, against long double. Equal elements all round the same way: with them the error of one
// chain of additions grows with the square of its length.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/scalar/block_sums.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/codegen/cpu/loops/parts_cases.h"
#include "tests/support/device.h"

namespace tailor {
namespace {

enum class Kind { kEqual, kPositive, kFarFromZero };

double ValueOf(Kind kind, std::mt19937& random) {
  const double uniform = static_cast<double>(random() >> 8) * 0x1p-24;
  if (kind == Kind::kEqual) return 0.1;
  return kind == Kind::kPositive ? uniform : 100 + uniform;
}

HostTensor Values(DType dtype, int64_t rows, int64_t columns, Kind kind) {
  HostTensor tensor = cpu::Tensor(dtype, {rows, columns});
  std::mt19937 random(7);
  for (int64_t i = 0; i < rows * columns; ++i) {
    ElementFromDouble(dtype, ValueOf(kind, random), &tensor.bytes[i * SizeOf(dtype)]);
  }
  return tensor;
}

long double ElementAt(const HostTensor& tensor, int64_t i) {
  return ElementToDouble(tensor.dtype, &tensor.bytes[i * SizeOf(tensor.dtype)]);
}

// Unit roundoff of what sums of `dtype` accumulate in.
long double Unit(DType dtype) { return dtype == DType::kF64 ? 0x1p-53L : 0x1p-24L; }

// In units of roundoff of the sum of magnitudes. Far below what docs/ops.md promises of the worst data, and what one
// chain of a few hundred equal elements exceeds; on a GPU, which has fewer partial sums, of a few thousand.
long double MostUnits(int64_t count, bool on_gpu) {
  const long double units = 12 + 2 * std::log2(static_cast<long double>(std::max<int64_t>(count, 1)));
  return on_gpu ? 2 * units : units;
}

struct Sums {
  std::vector<long double> of_rows, of_columns;
  long double of_all = 0;
};

Sums Exact(const HostTensor& x, bool squares) {
  const int64_t rows = x.dims[0], columns = x.dims[1];
  Sums sums{std::vector<long double>(rows), std::vector<long double>(columns)};
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const long double value = ElementAt(x, r * columns + c);
      const long double term = squares ? value * value : value;
      sums.of_rows[r] += term;
      sums.of_columns[c] += term;
      sums.of_all += term;
    }
  }
  return sums;
}

// Of sums of `count` elements each, all positive.
void ExpectClose(const HostTensor& got, const std::vector<long double>& want, DType in, int64_t count, bool on_gpu,
                 long double more = 0) {
  ASSERT_EQ(got.bytes.size(), want.size() * SizeOf(got.dtype));
  long double worst = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const long double value = ElementAt(got, static_cast<int64_t>(i));
    if (want[i] == 0) {
      EXPECT_EQ(value, 0);
    } else {
      worst = std::max(worst, std::abs(value - want[i]) / (want[i] * Unit(in)));
    }
  }
  EXPECT_LE(worst, MostUnits(count, on_gpu) + more) << "units of roundoff, sums of " << count;
}

constexpr char kSums[] = R"(graph @g(%x: T[R, C]) {
  %z = cast %x {dtype = A}
  %rows = reduce_sum %z {axes = [1]}
  %columns = reduce_sum %z {axes = [0]}
  %all = reduce_sum %z {axes = [0, 1]}
  %q = mul %z, %z
  %squares = reduce_sum %q {axes = [0]}
  return %rows, %columns, %all, %squares
})";

constexpr int64_t kB = BlockSums::kBlock;
constexpr int64_t kShapes[][2] = {{1, 1},           {kB - 1, 33},     {kB, 33},
                                  {kB + 1, 33},     {2 * kB + 1, 5},  {512, 256},
                                  {kB * kB - 1, 3}, {kB * kB + 1, 3}, {kB * kB * kB + kB + 1, 1},
                                  {3, 40003},       {1, 262147},      {750, 700},
                                  {100003, 2},      {0, 5},           {5, 0}};
// Of the emulated GPU, which is slow. Eight of its threads share a column.
constexpr int64_t kEmulatedShapes[][2] = {{1, 1}, {kB + 1, 33}, {128 * kB + 9, 1}, {1, 3001}, {0, 5}, {5, 0}};

bool IsEmulatedGpu(const TestDevice& device) { return device.name() == "simt"; }

using Shapes = std::vector<std::pair<int64_t, int64_t>>;
Shapes ShapesFor(const TestDevice& device) {
  Shapes shapes;
  if (IsEmulatedGpu(device)) {
    for (const auto& [rows, columns] : kEmulatedShapes) shapes.emplace_back(rows, columns);
  } else {
    for (const auto& [rows, columns] : kShapes) shapes.emplace_back(rows, columns);
  }
  return shapes;
}

struct SumsCase {
  const char* name;
  const char* dtype;
  const char* accumulate;
};
constexpr SumsCase kCases[] = {
    {"F32", "f32", "f32"}, {"F64", "f64", "f64"}, {"F16", "f16", "f32"}, {"Bf16", "bf16", "f32"}};

class BlockSumsTest : public testing::TestWithParam<SumsCase> {};

TEST_P(BlockSumsTest, LoseFewDigits) {
  const std::string text = absl::StrReplaceAll(
      kSums, {{"T[", absl::StrCat(GetParam().dtype, "[")}, {"= A", absl::StrCat("= ", GetParam().accumulate)}});
  const auto graph = ParseGraph(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  const DType dtype = graph->type({graph->inputs()[0], 0}).dtype;
  for (const auto& device : DevicesUnderTest()) {
    const bool on_gpu = IsEmulatedGpu(*device);
    const auto program = device->Compile(*graph);
    ASSERT_TRUE(program.ok()) << program.status();
    for (const auto& [rows, columns] : ShapesFor(*device)) {
      for (Kind kind : {Kind::kEqual, Kind::kPositive, Kind::kFarFromZero}) {
        if (on_gpu && (kind == Kind::kPositive || (rows > 1000 && dtype != DType::kF32))) continue;
        SCOPED_TRACE(absl::StrCat(device->name(), ", ", rows, " x ", columns, ", kind ", static_cast<int>(kind)));
        const HostTensor x = Values(dtype, rows, columns, kind);
        const auto got = (*program)->Run({x}, 1);
        ASSERT_TRUE(got.ok()) << got.status();
        const Sums sums = Exact(x, false), squares = Exact(x, true);
        ExpectClose((*got)[0], sums.of_rows, dtype, columns, on_gpu);
        ExpectClose((*got)[1], sums.of_columns, dtype, rows, on_gpu);
        ExpectClose((*got)[2], {sums.of_all}, dtype, rows * columns, on_gpu);
        ExpectClose((*got)[3], squares.of_columns, dtype, rows, on_gpu, /*more=*/1);
        if (on_gpu) continue;
        const auto other = (*program)->Run({x}, 2);
        ASSERT_TRUE(other.ok()) << other.status();
        for (size_t i = 0; i < got->size(); ++i) EXPECT_EQ((*got)[i].bytes, (*other)[i].bytes) << "other bits";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, BlockSumsTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

// Of two axes that are not neighbours, the last of which one thread of a GPU adds up alone.
TEST(BlockSums, OfTwoAxesAroundAnother) {
  const auto graph = ParseGraph(R"(graph @g(%x: f32[R, K, S, C]) {
  %y = reduce_sum %x {axes = [0, 2]}
  return %y
})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const auto& device : DevicesUnderTest()) {
    const auto program = device->Compile(*graph);
    ASSERT_TRUE(program.ok()) << program.status();
    constexpr int64_t kRows = 3, kKept = 2, kSteps = 5000, kColumns = 3;
    HostTensor x = Values(DType::kF32, kRows * kSteps, kKept * kColumns, Kind::kEqual);
    const std::vector<long double> sums = Exact(x, false).of_columns;  // of equal elements, in any order
    x.dims = {kRows, kKept, kSteps, kColumns};
    const auto got = (*program)->Run({x}, 1);
    ASSERT_TRUE(got.ok()) << got.status();
    ExpectClose((*got)[0], sums, DType::kF32, kRows * kSteps, IsEmulatedGpu(*device));
  }
}

// A layer norm's variance as models without the op write it: the mean of squares less the square of the mean.
TEST(BlockSums, VarianceOfColumnsAsADifference) {
  const auto graph = ParseGraph(R"(graph @g(%x: f32[R, C]) {
  %mean = reduce_mean %x {axes = [0]}
  %q = mul %x, %x
  %of_squares = reduce_mean %q {axes = [0]}
  %square = mul %mean, %mean
  %v = sub %of_squares, %square
  return %v
})");
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const auto& device : DevicesUnderTest()) {
    const auto program = device->Compile(*graph);
    ASSERT_TRUE(program.ok()) << program.status();
    for (int64_t rows : {int64_t{512}, int64_t{20000}}) {
      const int64_t columns = 40;
      const HostTensor x = Values(DType::kF32, rows, columns, Kind::kFarFromZero);
      const auto got = (*program)->Run({x}, 1);
      ASSERT_TRUE(got.ok()) << got.status();
      const Sums sums = Exact(x, false), squares = Exact(x, true);
      for (int64_t c = 0; c < columns; ++c) {
        const long double mean = sums.of_columns[c] / rows, of_squares = squares.of_columns[c] / rows;
        const long double error = std::abs(ElementAt((*got)[0], c) - (of_squares - mean * mean));
        EXPECT_LE(error, 10 * Unit(DType::kF32) * of_squares) << device->name() << ", " << rows;
      }
    }
  }
}

}  // namespace
}  // namespace tailor
