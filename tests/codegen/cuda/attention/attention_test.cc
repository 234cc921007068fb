// Attention as one kernel, from the graph to the driver's call, against double precision;
// and against the same graph with its weights as an output too, which keeps the kernels apart.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/cuda/ptx/target.h"
#include "codegen/lower/lower_graph.h"
#include "codegen/plan/attention.h"
#include "graph/element.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/codegen/lower/attention_case.h"

namespace tailor::cuda {
namespace {

using Mask = lower::AttentionCase::Mask;
using Layout = lower::AttentionCase::Layout;

// Of one kernel for attention, or of none.
std::unique_ptr<TestProgram> Compile(const std::string& text, bool joined = true) {
  auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status() << text;
  const auto lowered = lower::LowerGraph(*graph, FindCudaTarget("simt")->traits);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_EQ(std::count_if(lowered->kernels.begin(), lowered->kernels.end(),
                          [](const KernelPlan& plan) { return plan.IsAttention(); }),
            joined ? 1 : 0)
      << text;
  auto program = DevicesUnderTest().front()->Compile(*graph);
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

// Of results that are means of values up to 2.
double ToleranceOf(DType dtype) { return dtype == DType::kBF16 ? 0.02 : dtype == DType::kF16 ? 0.003 : 1e-5; }

void ExpectRight(const lower::AttentionCase& form, TestProgram& program, const lower::AttentionSizes& sizes) {
  SCOPED_TRACE(absl::StrCat("B = ", sizes.b, ", S = ", sizes.s, ", N = ", sizes.n));
  const lower::AttentionValues values = lower::MakeAttentionValues(form, sizes);
  const auto got = program.Run(values.inputs, 1);
  ASSERT_TRUE(got.ok()) << got.status();
  const std::vector<double> y = lower::ToDoubles((*got)[0]);
  ASSERT_EQ(y.size(), values.expected.size());
  for (size_t i = 0; i < y.size(); ++i) {
    if (std::isnan(values.expected[i])) {
      ASSERT_TRUE(std::isnan(y[i])) << y[i] << " at " << i;
    } else {
      ASSERT_NEAR(y[i], values.expected[i], ToleranceOf(form.dtype)) << "at " << i;
    }
  }
}

class CudaAttention : public testing::TestWithParam<DType> {
 protected:
  void ExpectRightAt(lower::AttentionCase form, const std::vector<lower::AttentionSizes>& all) {
    form.dtype = GetParam();
    const auto program = Compile(lower::AttentionGraph(form));
    for (const lower::AttentionSizes& sizes : all) ExpectRight(form, *program, sizes);
  }
};

TEST_P(CudaAttention, AnyLengths) {
  ExpectRightAt({}, {{1, 1, 1}, {2, 7, 7}, {1, 64, 64}, {1, 65, 65}, {1, 200, 200}, {1, 17, 130}, {1, 100, 3}});
}
TEST_P(CudaAttention, NoRowsAndNoKeys) { ExpectRightAt({}, {{0, 5, 5}, {2, 0, 3}, {2, 3, 0}, {1, 20, 0}}); }
TEST_P(CudaAttention, FewRowsAndManyKeys) { ExpectRightAt({}, {{1, 1, 300}, {2, 5, 64}, {1, 16, 1}, {1, 1, 17}}); }
TEST_P(CudaAttention, Causal) {
  ExpectRightAt({.mask = Mask::kCausal}, {{1, 1, 1}, {1, 65, 65}, {1, 130, 130}, {1, 3, 90}, {1, 70, 150}});
}
TEST_P(CudaAttention, CausalWithSmallNumbers) {
  for (const double never : {-1.0, -30000.0}) {
    ExpectRightAt({.depth = 32, .columns = 32, .mask = Mask::kCausal, .never = never}, {{1, 130, 130}, {1, 70, 150}});
  }
}
TEST_P(CudaAttention, Lengths) {
  for (const double never : {double{-INFINITY}, -30000.0}) {
    ExpectRightAt({.depth = 32, .columns = 32, .mask = Mask::kLengths, .never = never},
                  {{1, 70, 200}, {2, 9, 300}, {2, 70, 130, 1}, {3, 1, 150, 1}});
  }
}
TEST_P(CudaAttention, AdditiveMask) {
  ExpectRightAt({.mask = Mask::kAdditive}, {{2, 7, 7}, {2, 65, 200}, {2, 4, 130}, {2, 65, 70, 1}, {2, 3, 70, 1}});
}
TEST_P(CudaAttention, BooleanMask) {
  ExpectRightAt({.mask = Mask::kBoolean}, {{2, 7, 7}, {1, 65, 200}, {2, 66, 65, 2}, {2, 4, 70, 1}});
}
TEST_P(CudaAttention, HeadsInside) {
  ExpectRightAt({.depth = 32, .columns = 48, .layout = Layout::kHeadsInside}, {{2, 65, 33}, {1, 9, 100}});
}
TEST_P(CudaAttention, KeysTransposed) {
  ExpectRightAt({.depth = 32, .columns = 32, .layout = Layout::kKeysTransposed}, {{2, 65, 33}, {1, 9, 100}});
}

std::string Replaced(const std::string& text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return absl::StrReplaceAll(text, {{from, to}});
}

// One kernel gives what kernels apart do but for rounding, NaN for NaN.
void ExpectAsApart(const std::string& text, const std::vector<HostTensor>& inputs, double tolerance) {
  const auto joined = Compile(text)->Run(inputs, 1);
  const auto apart = Compile(Replaced(text, "return ", "return \"p\" = %p, "), /*joined=*/false)->Run(inputs, 1);
  ASSERT_TRUE(joined.ok()) << joined.status();
  ASSERT_TRUE(apart.ok()) << apart.status();
  const std::vector<double> got = lower::ToDoubles((*joined)[0]), expected = lower::ToDoubles((*apart)[1]);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      ASSERT_TRUE(std::isnan(got[i])) << got[i] << " at " << i;
    } else if (got[i] != expected[i]) {  // infinities are
      ASSERT_NEAR(got[i], expected[i], tolerance) << "at " << i;
    }
  }
}

// The shapes are those of the text with B = 1, S = 20, N = 70, and inputs in its order.
class CudaAttentionApart : public testing::TestWithParam<DType> {
 protected:
  std::string Text(Mask mask = Mask::kNone) { return lower::AttentionGraph({.dtype = GetParam(), .mask = mask}); }
  HostTensor Input(std::vector<int64_t> dims) { return lower::RandomTensor(GetParam(), std::move(dims), ++seed_); }
  std::string type() { return NameOf(GetParam()); }
  const double tolerance_ = 2 * ToleranceOf(GetParam());

 private:
  uint32_t seed_ = 0;
};

TEST_P(CudaAttentionApart, KeysAndValuesOfThePast) {
  std::string text = Replaced(
      Text(), absl::StrCat("%v: ", type(), "[B, 2, N, 64]"),
      absl::StrCat("%v: ", type(), "[B, 2, N, 64], %k0: ", type(), "[B, 2, P, 64], %v0: ", type(), "[B, 2, P, 64]"));
  text = Replaced(text, "%dots = dot %q, %k", "%keys = concat %k0, %k {axis = 2}\n  %dots = dot %q, %keys");
  text = Replaced(text, "dot %p, %v", "dot %p, %values");
  text = Replaced(text, "  %dots", "  %values = concat %v0, %v {axis = 2}\n  %dots");
  const HostTensor k0 = Input({1, 2, 68, 64}), v0 = Input({1, 2, 68, 64});
  for (int64_t rows : {1, 20}) {
    const HostTensor q = Input({1, 2, rows, 64}), k = Input({1, 2, 3, 64}), v = Input({1, 2, 3, 64});
    ExpectAsApart(text, {q, k, v, k0, v0}, tolerance_);
  }
}

TEST_P(CudaAttentionApart, OneHeadOfKeysForAll) {
  std::string text = Replaced(Text(), "[B, 2, N, 64]", "[B, 1, N, 64]");
  ExpectAsApart(text, {Input({1, 2, 20, 64}), Input({1, 1, 70, 64}), Input({1, 1, 70, 64})}, tolerance_);
}

TEST_P(CudaAttentionApart, FactorsAndWhatFollows) {
  std::string text = Replaced(Text(), absl::StrCat("%v: ", type(), "[B, 2, N, 64]"),
                              absl::StrCat("%v: ", type(), "[B, 2, N, 64], %kept: ", type(), "[S, N], %gate: ", type(),
                                           "[S, 1], %bias: f32[128]"));
  text = Replaced(text, "%p = div %e, %sum", "%e2 = mul %kept, %e\n  %p1 = div %e2, %sum\n  %p = mul %p1, %gate");
  text = Replaced(text, "return \"y\" = %joined",
                  "%wide = cast %joined {dtype = f32}\n  %y = add %wide, %bias\n  return \"y\" = %y");
  ExpectAsApart(text,
                {Input({1, 2, 20, 64}), Input({1, 2, 70, 64}), Input({1, 2, 70, 64}), Input({20, 70}), Input({20, 1}),
                 lower::RandomTensor(DType::kF32, {128}, 9)},
                tolerance_);
}

// Infinities among queries and keys make scores of both signs, and NaN; those among values meet weights of 0.
TEST_P(CudaAttentionApart, InfinitiesAndNaN) {
  const std::string text = Text(Mask::kBoolean);
  for (const int64_t rows : {12, 70}) {
    lower::AttentionValues values =
        lower::MakeAttentionValues({.dtype = GetParam(), .mask = Mask::kBoolean}, {1, rows, 70, 1});
    const size_t size = SizeOf(GetParam());
    const auto set = [&](int input, size_t element, double value) {
      ElementFromDouble(GetParam(), value, &values.inputs[input].bytes[element * size]);
    };
    set(0, 64 * 3, INFINITY);
    set(0, 64 * 5 + 1, NAN);
    set(1, 64 * 70 + 64 * 69, -INFINITY);  // the last key of the second head
    set(2, 64 * 69 + 2, INFINITY);
    set(2, 64 * 8 + 9, NAN);
    ExpectAsApart(text, values.inputs, tolerance_);
  }
}

// Where every key of a step is hidden from all rows of a block, their values are still 0 times themselves.
TEST_P(CudaAttentionApart, InfinitiesAmongMaskedKeys) {
  const std::string text = Text(Mask::kCausal);
  for (const auto& [key, value] : {std::pair(129, INFINITY), std::pair(199, NAN), std::pair(64, -INFINITY)}) {
    lower::AttentionValues values =
        lower::MakeAttentionValues({.dtype = GetParam(), .mask = Mask::kCausal}, {1, 200, 200});
    const size_t size = SizeOf(GetParam());
    for (int column : {0, 17, 63}) {
      ElementFromDouble(GetParam(), value, &values.inputs[2].bytes[(64 * key + column) * size]);
    }
    ElementFromDouble(GetParam(), value, &values.inputs[1].bytes[64 * key * size]);
    ExpectAsApart(text, values.inputs, tolerance_);
  }
}

struct Widths {
  int64_t depth, columns;
};

class CudaAttentionWidths : public testing::TestWithParam<std::tuple<DType, Widths>> {};

TEST_P(CudaAttentionWidths, AreRight) {
  const auto [dtype, widths] = GetParam();
  const lower::AttentionCase form{.dtype = dtype, .depth = widths.depth, .columns = widths.columns};
  const auto program = Compile(lower::AttentionGraph(form));
  for (const lower::AttentionSizes& sizes : {lower::AttentionSizes{1, 35, 70}, {1, 3, 70}})
    ExpectRight(form, *program, sizes);
}

constexpr DType kTypes[] = {DType::kF16, DType::kBF16, DType::kF32};

INSTANTIATE_TEST_SUITE_P(Cuda, CudaAttention, testing::ValuesIn(kTypes),
                         [](const auto& info) { return NameOf(info.param); });
INSTANTIATE_TEST_SUITE_P(Cuda, CudaAttentionApart, testing::ValuesIn(kTypes),
                         [](const auto& info) { return NameOf(info.param); });
INSTANTIATE_TEST_SUITE_P(Cuda, CudaAttentionWidths,
                         testing::Combine(testing::ValuesIn(kTypes),
                                          testing::Values(Widths{16, 16}, Widths{20, 25}, Widths{72, 80},
                                                          Widths{128, 128}, Widths{128, 16}, Widths{16, 128})),
                         [](const auto& info) {
                           const Widths& widths = std::get<1>(info.param);
                           return absl::StrCat(NameOf(std::get<0>(info.param)), "_", widths.depth, "_", widths.columns);
                         });

}  // namespace
}  // namespace tailor::cuda
