#include "codegen/cpu/loops/pipelined_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/codegen/plan/loop_plans.h"
#include "tests/support/device.h"

namespace tailor::cpu {
namespace {

TEST(StageToOverlap, IsTheFirstWithTheLoopsOfTheFirstStage) {
  KernelPlan plan = RowSoftmaxPlan();
  EXPECT_EQ(StageToOverlap(plan, 1), 1);
  plan.stages[1].axes.clear();
  EXPECT_EQ(StageToOverlap(plan, 1), 2);
  plan.stages[2].axes.clear();
  EXPECT_EQ(StageToOverlap(plan, 1), 0);
}

TEST(StageToOverlap, IsNoneWhereLanesRunElsewhere) {
  EXPECT_EQ(StageToOverlap(RowSoftmaxPlan(), 0), 0);
  KernelPlan plan = RowSoftmaxPlan();
  plan.stages[0].axes.clear();
  EXPECT_EQ(StageToOverlap(plan, 1), 0);
}

TEST(StageToOverlap, IsNoneWhereTheFirstStageLeavesMoreThanResults) {
  KernelPlan plan = RowSoftmaxPlan();
  const ExprId x = plan.stages[0].statements[0].value;
  plan.stages[0].statements.push_back({.buffer = 4, .value = x});  // a local value of each element
  EXPECT_EQ(StageToOverlap(plan, 1), 0);
  EXPECT_EQ(StageToOverlap(RowScanPlan(/*exclusive=*/false, /*mirrored=*/false), 1), 0);
  plan = RowSoftmaxPlan();
  plan.axes[1].role = AxisRole::kOrdered;  // its reductions are scans
  EXPECT_EQ(StageToOverlap(plan, 1), 0);
}

TEST(CanDeferLastStage, WhereItStoresInTheSameLoopsLater) {
  KernelPlan plan = RowSoftmaxPlan();
  EXPECT_TRUE(CanDeferLastStage(plan, 1));
  EXPECT_FALSE(CanDeferLastStage(plan, 2));
  EXPECT_FALSE(CanDeferLastStage(plan, 0));
  plan.stages[2].statements.push_back(plan.stages[0].statements[0]);  // a reduction
  EXPECT_FALSE(CanDeferLastStage(plan, 1));
  plan = RowSoftmaxPlan();
  plan.stages[2].axes.clear();
  EXPECT_FALSE(CanDeferLastStage(plan, 1));
}

TEST(RowBufferSets, AreOneForEachRowInFlightThatUsesThem) {
  KernelPlan plan = RowSoftmaxPlan();
  const auto sets = [&](int ahead, bool behind) {
    Schedule schedule;
    schedule.overlap_stage = ahead;
    schedule.defer_last_stage = behind;
    return RowBufferSets(plan, schedule);
  };
  EXPECT_EQ(sets(0, false), 1);
  EXPECT_EQ(sets(1, false), 1);
  EXPECT_EQ(sets(1, true), 2);
  plan.stages[0].statements.push_back(plan.stages[1].statements[0]);
  EXPECT_EQ(StageToOverlap(plan, 1), 1);
  EXPECT_EQ(sets(1, false), 2);
  EXPECT_EQ(sets(1, true), 3);
  plan.buffers[2].kind = BufferKind::kOutput;
  EXPECT_EQ(sets(1, true), 1);
}

// Rows that are reduced twice. Where `op` is a division the first stage keeps what it computes.
std::string SoftmaxOf(const std::string& op) {
  return absl::StrCat("graph @softmax(%x: T[R, C], %k: T[C]) {\n  %z = ", op, R"( %x, %k
  %m = reduce_max %z {axes = [1], keep_dims = 1}
  %d = sub %z, %m
  %e = exp %d
  %s = reduce_sum %e {axes = [1], keep_dims = 1}
  %y = div %e, %s
  return %y
})");
}

std::unique_ptr<TestProgram> Compile(const TestDevice& device, const std::string& text) {
  const auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  auto program = device.Compile(*graph);
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

template <typename T>
HostTensor ToHost(DType dtype, std::vector<int64_t> dims, const std::vector<T>& values) {
  HostTensor tensor{dtype, std::move(dims), std::vector<std::byte>(values.size() * sizeof(T))};
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

template <typename T>
std::vector<T> FromHost(const HostTensor& tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

template <typename T>
std::vector<T> Random(size_t count) {
  std::mt19937 random(7);
  std::uniform_real_distribution<T> between(-3, 3);
  std::vector<T> values(count);
  for (T& value : values) value = between(random);
  return values;
}

// Rows of f32 and f64 among which are such with infinities and NaN.
template <typename T>
class SpecialRows : public testing::Test {
 protected:
  static constexpr DType kType = sizeof(T) == 4 ? DType::kF32 : DType::kF64;
  static constexpr T kInf = std::numeric_limits<T>::infinity(), kNaN = std::numeric_limits<T>::quiet_NaN();
  static constexpr int64_t kRows = 61;

  // What becomes of a row, by its number.
  enum class Kind { kOrdinary, kOneNaN, kOneInf, kAllInf, kAllMasked, kAllNaN, kMasked, kHuge };
  static Kind KindOf(int64_t row) {
    static constexpr Kind kKinds[] = {Kind::kOneNaN, Kind::kOrdinary,  Kind::kAllMasked, Kind::kOrdinary,
                                      Kind::kMasked, Kind::kOneInf,    Kind::kOrdinary,  Kind::kAllInf,
                                      Kind::kMasked, Kind::kAllMasked, Kind::kAllNaN,    Kind::kOrdinary,
                                      Kind::kHuge};
    return kKinds[row % std::size(kKinds)];
  }
  static bool IsMasked(int64_t row, int64_t column) {
    return KindOf(row) == Kind::kMasked && (column * 7 + row) % 5 < 2 && column != row % 7;
  }

  static std::vector<T> WithSpecials(std::vector<T> x, int64_t columns) {
    for (int64_t row = 0; row < kRows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        const bool chosen = column == row * 37 % columns;
        T& value = x[row * columns + column];
        switch (KindOf(row)) {
          case Kind::kOrdinary:
            break;
          case Kind::kOneNaN:
            if (chosen) value = kNaN;
            break;
          case Kind::kOneInf:
            if (chosen) value = kInf;
            break;
          case Kind::kAllInf:
            value = kInf;
            break;
          case Kind::kAllMasked:
            value = -kInf;
            break;
          case Kind::kAllNaN:
            value = kNaN;
            break;
          case Kind::kMasked:
            if (IsMasked(row, column)) value = -kInf;
            break;
          case Kind::kHuge:  // powers of differences that leave every range
            value = chosen ? 0 : -std::numeric_limits<T>::max() / 4 * static_cast<T>(column % 2) - 1000;
        }
      }
    }
    return x;
  }

  // `got` has the rows of `ordinary` where they are that, and elsewhere what follows from the row alone.
  static void ExpectRows(const std::vector<T>& got, const std::vector<T>& ordinary, int64_t columns) {
    for (int64_t row = 0; row < kRows; ++row) {
      T sum = 0;
      for (int64_t column = 0; column < columns; ++column) {
        const T value = got[row * columns + column];
        sum += value;
        SCOPED_TRACE(absl::StrCat("row ", row, ", column ", column));
        switch (KindOf(row)) {
          case Kind::kOrdinary:
            ASSERT_EQ(value, ordinary[row * columns + column]);
            break;
          case Kind::kMasked:
            ASSERT_EQ(value == 0, IsMasked(row, column));
            ASSERT_FALSE(std::signbit(value));
            break;
          case Kind::kHuge:
            ASSERT_EQ(value, column == row * 37 % columns ? 1 : 0);
            break;
          default:
            ASSERT_TRUE(std::isnan(value));
        }
      }
      if (KindOf(row) == Kind::kMasked) {
        ASSERT_NEAR(sum, 1, 1e-5);
      }
    }
  }

  static std::string TextOf(const std::string& text) {
    return absl::StrReplaceAll(text, {{"T[", absl::StrCat(sizeof(T) == 4 ? "f32" : "f64", "[")}});
  }
};

using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(SpecialRows, Floats);

TYPED_TEST(SpecialRows, ChangeNoOther) {
  using T = TypeParam;
  std::vector<std::unique_ptr<TestDevice>> devices = CpuDevices();
  devices.push_back(DonatingCpuDevice());
  for (const auto& device : devices) {
    for (const char* op : {"mul", "div"}) {
      const std::string text = this->TextOf(SoftmaxOf(op));
      const auto program = Compile(*device, text);
      for (const int64_t columns : {7, 100, 128, 129, 300}) {
        SCOPED_TRACE(absl::StrCat(device->name(), text, " of ", columns));
        const std::vector<int64_t> dims = {this->kRows, columns};
        const std::vector<T> x = Random<T>(this->kRows * columns);
        const HostTensor ones = ToHost<T>(this->kType, {columns}, std::vector<T>(columns, 1));
        const HostTensor special = ToHost<T>(this->kType, dims, this->WithSpecials(x, columns));
        const auto ordinary = program->Run({ToHost<T>(this->kType, dims, x), ones}, 1);
        ASSERT_TRUE(ordinary.ok()) << ordinary.status();
        std::vector<T> first;
        for (const int threads : {1, 2}) {
          std::vector<HostTensor> outputs = *ordinary;
          ASSERT_TRUE(program->RunInto({special, ones}, threads, &outputs).ok());
          const std::vector<T> got = FromHost<T>(outputs[0]);
          this->ExpectRows(got, FromHost<T>((*ordinary)[0]), columns);
          if (threads == 1) first = got;
          const auto alike = [](T x, T y) { return x == y || (std::isnan(x) && std::isnan(y)); };
          EXPECT_TRUE(std::equal(got.begin(), got.end(), first.begin(), alike)) << "other bits with two threads";
          if (this->HasFailure()) return;
        }
      }
    }
  }
}

// Those of launches of more than 2^20 elements are not in flight together.
TEST(PipelinedRows, HaveTheBitsOfRowsAlone) {
  constexpr int64_t kColumns = 300, kNear = (1 << 20) / kColumns;
  const std::vector<float> x = Random<float>((kNear + 1) * kColumns);
  const auto rows = [&](int64_t first, int64_t end) {
    return ToHost<float>(DType::kF32, {end - first, kColumns},
                         {x.begin() + first * kColumns, x.begin() + end * kColumns});
  };
  const HostTensor k = ToHost(DType::kF32, {kColumns}, Random<float>(kColumns));
  for (const char* op : {"mul", "div"}) {
    const auto program = Compile(*CpuDevices().front(), absl::StrReplaceAll(SoftmaxOf(op), {{"T[", "f32["}}));
    const auto run = [&](int64_t first, int64_t end, int threads) {
      const auto got = program->Run({rows(first, end), k}, threads);
      EXPECT_TRUE(got.ok()) << got.status();
      return (*got)[0].bytes;
    };
    const std::vector<std::byte> all = run(0, kNear + 1, 1);
    const auto part = [&](int64_t first, int64_t end) {
      constexpr auto kRowBytes = static_cast<std::ptrdiff_t>(kColumns * sizeof(float));
      return std::vector<std::byte>(all.begin() + first * kRowBytes, all.begin() + end * kRowBytes);
    };
    EXPECT_TRUE(run(0, kNear, 1) == part(0, kNear));
    EXPECT_TRUE(run(0, kNear, 2) == part(0, kNear));
    EXPECT_TRUE(run(0, kNear + 1, 2) == all);
    for (const int64_t count : {1, 2, 3, 4, 5}) {
      EXPECT_TRUE(run(kNear + 1 - count, kNear + 1, 1) == part(kNear + 1 - count, kNear + 1)) << count;
    }
  }
}

// Of rows that are found by index, and of elements that are.
TEST(PipelinedRows, ReportAnIndexOutOfRangeInAnyRow) {
  constexpr int64_t kEntries = 50;
  const std::string powers = R"(
  %m = reduce_max %z {axes = [1], keep_dims = 1}
  %d = sub %z, %m
  %e = exp %d
  %s = reduce_sum %e {axes = [1], keep_dims = 1}
  %y = div %e, %s
  return %y
})";
  for (const bool of_elements : {false, true}) {
    const std::string inputs = of_elements ? "%x: f32[N], %i: i64[R, C]" : "%x: f32[N, C], %i: i64[R]";
    const std::string gather = absl::StrCat("graph @g(", inputs, ") {\n  %z = gather %x, %i {axis = 0}", powers);
    const auto program = Compile(*CpuDevices().front(), gather);
    for (const int64_t columns : {100, 300}) {
      const int64_t wide = of_elements ? columns : 1;  // indices of a row
      const std::vector<float> table = Random<float>(kEntries * columns / wide);
      const std::vector<int64_t> by_element = {kEntries}, by_row = {kEntries, columns};
      const HostTensor x = ToHost(DType::kF32, of_elements ? by_element : by_row, table);
      for (const int64_t rows : {1, 2, 3, 40}) {
        const auto run = [&](int64_t wrong, int threads) {
          std::vector<int64_t> entries(rows * wide);
          for (size_t i = 0; i < entries.size(); ++i) entries[i] = static_cast<int64_t>(i * 7 % kEntries);
          if (wrong >= 0) entries[wrong * wide + wrong * 11 % wide] = kEntries;
          std::vector<int64_t> dims = {rows};
          if (of_elements) dims.push_back(columns);
          return program->Run({x, ToHost(DType::kI64, dims, entries)}, threads).status();
        };
        for (const int threads : {1, 2}) {
          SCOPED_TRACE(absl::StrCat(rows, " x ", columns, " by ", inputs, ", threads ", threads));
          for (const int64_t wrong : {int64_t{0}, rows / 2, rows - 1}) {
            EXPECT_EQ(run(wrong, threads).message(),
                      "gather %z: index 50 is out of range for dim 0 of %x, which has 50 entries")
                << wrong;
          }
          EXPECT_TRUE(run(-1, threads).ok());
        }
      }
    }
  }
}

}  // namespace
}  // namespace tailor::cpu
