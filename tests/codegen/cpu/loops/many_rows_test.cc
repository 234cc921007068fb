// One matmul compiled once and run with 1 to 8,192 rows: every row is held against float64, and at every number of
// rows the plan names the version that the dims allow.
//
//   TAILOR_TEST_ALL=1  every number of rows in every case; the slice on every CPU level that this machine runs too
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/driver/compile.h"
#include "codegen/link/link.h"
#include "codegen/link/target_machine.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/codegen/host/emit/fake_runtime.h"
#include "tests/codegen/link/ir_image.h"

namespace tailor::cpu {
namespace {

constexpr int64_t kMostRows = 8192;

enum class Right { kConstant, kInput, kConstantAndBias };

struct MatmulCase {
  const char* name;
  int64_t depth, columns;
  Right right;
  int64_t stride;  // of the numbers of rows tried, beside 1
};

constexpr MatmulCase kCases[] = {
    {"Constant", 24, 40, Right::kConstant, 1},
    {"Input", 24, 40, Right::kInput, 1},
    {"ConstantAndBias", 24, 40, Right::kConstantAndBias, 3},
    {"LargerConstant", 96, 256, Right::kConstant, 61},
    {"DeepInput", 1100, 72, Right::kInput, 389},  // more than one block of depth
};

bool TestAll() { return std::getenv("TAILOR_TEST_ALL") != nullptr; }

std::vector<float> Random(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(random() >> 40) * 0x1p-23f - 1;
  return values;
}

// Columns weigh 1 to 8, so that a row whose elements change places has another sum.
double WeightOf(int64_t column) { return static_cast<double>(column % 8 + 1); }

template <typename T>
double Checksum(const T* row, int64_t columns) {
  double parts[8] = {};
  int64_t first = 0;
  for (; first + 8 <= columns; first += 8) {
    for (int64_t i = 0; i < 8; ++i) parts[i] += static_cast<double>(row[first + i]);
  }
  for (int64_t i = 0; first + i < columns; ++i) parts[i] += static_cast<double>(row[first + i]);
  double sum = 0;
  for (int64_t i = 0; i < 8; ++i) sum += WeightOf(i) * parts[i];
  return sum;
}

class ManyRows {
 public:
  ManyRows(const MatmulCase& matmul, const std::string& target)
      : case_(matmul),
        x_(Random(kMostRows * matmul.depth, 1)),
        w_(Random(matmul.depth * matmul.columns, 2)),
        bias_(Random(kMostRows * matmul.columns, 3)) {
    const auto constants = [this](absl::string_view, const TensorType&) {
      return ConstantData{.owner = nullptr, .data = w_.data(), .size = w_.size() * sizeof(float)};
    };
    auto graph = ParseGraph(Text(), constants);
    EXPECT_TRUE(graph.ok()) << graph.status();
    auto compiled = driver::Compile(*graph, {.targets = {target}});
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    compiled_ = *std::move(compiled);
    const Variant& variant = compiled_.program.variants[0];
    image_ = std::make_unique<CodeImage>(Image{{variant.image.begin(), variant.image.end()},
                                               {{"run", variant.run_offset}, {"plan", variant.plan_offset}}});
    runtime_ = std::make_unique<host::FakeRuntime>(variant.shape_cache_slots, 1);
    for (const ProgramConstant& constant : compiled_.program.constants) packed_.push_back(constant.bytes.data());
    runtime_->context.constants = packed_.data();
    Reference();
  }

  bool HasBias() const { return case_.right == Right::kConstantAndBias; }

  // Runs the first `rows` rows of x, and of the bias, which has `bias_rows` (1 or `rows`).
  void Check(int64_t rows, int64_t bias_rows) {
    int64_t x_dims[] = {rows, case_.depth}, w_dims[] = {case_.depth, case_.columns},
            bias_dims[] = {bias_rows, case_.columns}, out_dims[] = {-1, -1};
    std::vector<TensorArg> in = {{x_.data(), x_dims}};
    if (case_.right == Right::kInput) in.push_back({w_.data(), w_dims});
    if (HasBias()) in.push_back({bias_.data(), bias_dims});
    CheckVersions(in, rows, bias_rows);
    TensorArg out{nullptr, out_dims};
    ASSERT_EQ(image_->Find<RunFn>("run")(&runtime_->api, &runtime_->context, in.data(), &out), 0);
    ASSERT_EQ(out_dims[0], rows);
    ASSERT_EQ(out_dims[1], case_.columns);
    const auto* y = static_cast<const float*>(out.data);
    for (int64_t row = 0; row < rows; ++row) {
      double wanted = sums_[row];
      if (HasBias()) wanted += bias_sums_[bias_rows == 1 ? 0 : row];
      const double sum = Checksum(y + row * case_.columns, case_.columns);
      ASSERT_TRUE(std::fabs(sum - wanted) <= errors_[row]) << "row " << row << ": " << sum << ", not " << wanted;
    }
  }

 private:
  std::string Text() const {
    const std::string w = absl::StrCat("f32[", case_.depth, ", ", case_.columns, "]");
    return absl::StrCat("graph @g(%x: f32[M, ", case_.depth, "]", case_.right == Right::kInput ? ", %w: " + w : "",
                        HasBias() ? absl::StrCat(", %b: f32[P, ", case_.columns, "]") : "", ") {\n",
                        case_.right == Right::kInput ? "" : absl::StrCat("  %w = constant @w : ", w, "\n"),
                        "  %d = dot %x, %w\n", HasBias() ? "  %y = add %d, %b\n  return %y\n}" : "  return %d\n}");
  }

  // What rows sum to in float64, and how far off sums in f32 may be in any order.
  void Reference() {
    std::vector<double> weighted(case_.depth), magnitude(case_.depth);
    for (int64_t k = 0; k < case_.depth; ++k) {
      const float* row = &w_[k * case_.columns];
      weighted[k] = Checksum(row, case_.columns);
      for (int64_t n = 0; n < case_.columns; ++n) magnitude[k] += WeightOf(n) * std::fabs(row[n]);
    }
    for (int64_t m = 0; m < kMostRows; ++m) {
      double sum = 0, most = 0;
      for (int64_t k = 0; k < case_.depth; ++k) {
        const double x = x_[m * case_.depth + k];
        sum += x * weighted[k];
        most += std::fabs(x) * magnitude[k];
      }
      sums_.push_back(sum);
      bias_sums_.push_back(Checksum(&bias_[m * case_.columns], case_.columns));
      errors_.push_back((most + 8 * static_cast<double>(case_.columns)) * static_cast<double>(case_.depth + 2) *
                        0x1p-24);
    }
  }

  // Each launch has a version. The matmul with a bias has one for dims that do not broadcast, and must take it
  // exactly where none does; everything else has one version.
  void CheckVersions(const std::vector<TensorArg>& in, int64_t rows, int64_t bias_rows) const {
    const std::vector<ProgramLaunch>& launches = compiled_.program.variants[0].launches;
    std::vector<int32_t> versions(launches.size(), -1);
    PlanResult plan{sizeof(PlanResult), 0, versions.data()};
    int64_t out_dims[] = {-1, -1};
    TensorArg out{nullptr, out_dims};
    ASSERT_EQ(image_->Find<PlanFn>("plan")(&runtime_->api, &runtime_->context, in.data(), &out, &plan), 0);
    for (size_t i = 0; i < launches.size(); ++i) {
      const bool matmul = i + 1 == launches.size();
      ASSERT_EQ(launches[i].versions.size(), matmul && HasBias() ? 2u : 1u);
      const bool broadcasts = rows == 1 || bias_rows == 1;
      ASSERT_EQ(versions[i], matmul && HasBias() && broadcasts ? 1 : 0) << launches[i].kernel;
    }
  }

  const MatmulCase case_;
  std::vector<float> x_, w_, bias_;
  std::vector<double> sums_, bias_sums_, errors_;  // per row
  driver::CompiledProgram compiled_;
  std::vector<const void*> packed_;
  std::unique_ptr<CodeImage> image_;
  std::unique_ptr<host::FakeRuntime> runtime_;
};

class ManyRowsTest : public ::testing::TestWithParam<MatmulCase> {};

TEST_P(ManyRowsTest, EveryResultIsRight) {
  std::vector<std::string> targets = {"host"};
  for (const char* level : {"x86-64-v4", "x86-64-v3", "x86-64-v2"}) {
    if (TestAll() && RunsOrSays(level)) targets.push_back(level);
  }
  for (const std::string& target : targets) {
    ManyRows matmul(GetParam(), target);
    const int64_t stride = TestAll() && target == "host" ? 1 : GetParam().stride;
    for (int64_t rows = kMostRows; rows > 0; rows = rows > 1 ? std::max<int64_t>(rows - stride, 1) : 0) {
      SCOPED_TRACE(absl::StrCat(rows, " rows on ", target));
      matmul.Check(rows, rows % 2 == 0 ? 1 : rows);
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Matmuls, ManyRowsTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tailor::cpu
