// A rhs that is not constant: read where it is in memory, in panels that the matmul makes, or packed. Against sums in
// f64, on every CPU level; and an element has the same bits whichever of them is taken.
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "codegen/cpu/emit_cpu.h"
#include "codegen/cpu/gemm/rhs_operand.h"
#include "codegen/lower/lower_graph.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/plan_queries.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/support/device.h"

namespace tailor::gemm {
namespace {

HostTensor Floats(std::vector<int64_t> dims, uint64_t seed) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  HostTensor tensor{.dtype = DType::kF32, .dims = std::move(dims), .bytes = std::vector<std::byte>(4 * count)};
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(random() >> 40) * 0x1p-23f - 1;
    std::memcpy(&tensor.bytes[4 * i], &value, 4);
  }
  return tensor;
}

float At(const HostTensor& tensor, int64_t i) {
  float value;
  std::memcpy(&value, &tensor.bytes[4 * i], 4);
  return value;
}

struct Size {
  int64_t batch, m, n, k;
};

// x[B, 3, M, K] times [B, 3, K, N], from a tensor w of another order.
struct Form {
  const char* name;
  const char* graph;
  std::vector<int64_t> (*dims)(const Size& size);
  int64_t (*element)(const Size& size, int64_t b, int64_t h, int64_t k, int64_t n);
  std::vector<Size> sizes;
};

const std::vector<int64_t> kRows = {1, 5, 24, 25, 31};

std::vector<Size> Sizes(const std::vector<std::vector<int64_t>>& columns_and_depths) {
  std::vector<Size> sizes;
  for (const int64_t m : kRows) {
    for (const auto& nk : columns_and_depths) sizes.push_back({2, m, nk[0], nk[1]});
  }
  return sizes;
}

const std::vector<Form>& Forms() {
  static const auto& forms = *new std::vector<Form>{
      // Keys: squares are transposed.
      {"keys",
       "graph @g(%x: f32[B, 3, M, K], %w: f32[B, 3, N, K]) {\n  %y = dot %x, %w {transpose_rhs = 1}\n  return %y\n}",
       [](const Size& s) {
         return std::vector<int64_t>{s.batch, 3, s.n, s.k};
       },
       [](const Size& s, int64_t b, int64_t h, int64_t k, int64_t n) { return ((b * 3 + h) * s.n + n) * s.k + k; },
       Sizes({{1, 64}, {15, 3}, {64, 64}, {100, 20}, {70, 1031}, {0, 8}, {8, 0}})},
      // Keys as a projection stores them: rows of a head are apart.
      {"keys by heads",
       "graph @g(%x: f32[B, 3, M, K], %w: f32[B, N, 3, K]) {\n  %t = transpose %w {permutation = [0, 2, 1, 3]}\n"
       "  %y = dot %x, %t {transpose_rhs = 1}\n  return %y\n}",
       [](const Size& s) {
         return std::vector<int64_t>{s.batch, s.n, 3, s.k};
       },
       [](const Size& s, int64_t b, int64_t h, int64_t k, int64_t n) { return ((b * s.n + n) * 3 + h) * s.k + k; },
       Sizes({{33, 40}, {64, 64}})},
      // Any columns: rows are copied.
      {"columns", "graph @g(%x: f32[B, 3, M, K], %w: f32[B, 3, K, N]) {\n  %y = dot %x, %w\n  return %y\n}",
       [](const Size& s) {
         return std::vector<int64_t>{s.batch, 3, s.k, s.n};
       },
       [](const Size& s, int64_t b, int64_t h, int64_t k, int64_t n) { return ((b * 3 + h) * s.k + k) * s.n + n; },
       Sizes({{1, 64}, {17, 5}, {64, 64}, {100, 1029}, {300, 7}})},
      // Values: whole panels of columns are read in place by any number of rows.
      {"values", "graph @g(%x: f32[B, 3, M, K], %w: f32[B, 3, K, 48]) {\n  %y = dot %x, %w\n  return %y\n}",
       [](const Size& s) {
         return std::vector<int64_t>{s.batch, 3, s.k, s.n};
       },
       [](const Size& s, int64_t b, int64_t h, int64_t k, int64_t n) { return ((b * 3 + h) * s.k + k) * s.n + n; },
       Sizes({{48, 1}, {48, 64}, {48, 1030}})},
      {"values by heads",
       "graph @g(%x: f32[B, 3, M, K], %w: f32[B, K, 3, 64]) {\n  %t = transpose %w {permutation = [0, 2, 1, 3]}\n"
       "  %y = dot %x, %t\n  return %y\n}",
       [](const Size& s) {
         return std::vector<int64_t>{s.batch, s.k, 3, s.n};
       },
       [](const Size& s, int64_t b, int64_t h, int64_t k, int64_t n) { return ((b * s.k + k) * 3 + h) * s.n + n; },
       Sizes({{64, 33}, {64, 64}})},
      // One matrix of all heads, whose rows become rows of one matmul.
      {"grouped",
       "graph @g(%x: f32[B, 3, M, K], %w: f32[B, 1, N, K]) {\n  %y = dot %x, %w {transpose_rhs = 1}\n  return %y\n}",
       [](const Size& s) {
         return std::vector<int64_t>{s.batch, 1, s.n, s.k};
       },
       [](const Size& s, int64_t b, int64_t, int64_t k, int64_t n) { return (b * s.n + n) * s.k + k; },
       Sizes({{1, 64}, {64, 64}, {100, 20}})},
      // One matrix of all batches.
      {"shared",
       "graph @g(%x: f32[B, 3, M, K], %w: f32[N, K]) {\n  %y = dot %x, %w {transpose_rhs = 1}\n  return %y\n}",
       [](const Size& s) {
         return std::vector<int64_t>{s.n, s.k};
       },
       [](const Size& s, int64_t, int64_t, int64_t k, int64_t n) { return n * s.k + k; }, Sizes({{100, 24}})},
  };
  return forms;
}

class RhsOperand : public testing::TestWithParam<Form> {};

TEST_P(RhsOperand, IsReadInPlaceOrPackedWithTheSameBits) {
  const Form& form = GetParam();
  for (const auto& device : CpuDevices()) {
    const auto program = *device->Compile(*ParseGraph(form.graph));
    for (const Size& size : form.sizes) {
      SCOPED_TRACE(absl::StrCat(device->name(), " M = ", size.m, ", N = ", size.n, ", K = ", size.k));
      const HostTensor w = Floats(form.dims(size), 2);
      const auto run = [&](int64_t rows, int threads) {
        return program->Run({Floats({size.batch, 3, rows, size.k}, rows), w}, threads);
      };
      const auto got = run(size.m, 1), again = run(size.m, 2);
      ASSERT_TRUE(got.ok()) << got.status();
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_TRUE((*got)[0].bytes == (*again)[0].bytes) << "two threads give other bits";
      const HostTensor x = Floats({size.batch, 3, size.m, size.k}, size.m);
      // The same rows among others, of which there are enough to be packed for.
      HostTensor more = Floats({size.batch, 3, size.m + 48, size.k}, 1);
      const int64_t row = 4 * size.k;
      for (int64_t h = 0; h < size.batch * 3 && row > 0; ++h) {
        std::memcpy(&more.bytes[h * (size.m + 48) * row], &x.bytes[h * size.m * row], size.m * row);
      }
      const auto among = program->Run({more, w}, 1);
      ASSERT_TRUE(among.ok()) << among.status();
      for (int64_t h = 0; h < size.batch * 3; ++h) {
        for (int64_t m = 0; m < size.m; ++m) {
          for (int64_t n = 0; n < size.n; ++n) {
            double sum = 0, most = 0;
            for (int64_t k = 0; k < size.k; ++k) {
              const double product =
                  double{At(x, (h * size.m + m) * size.k + k)} * At(w, form.element(size, h / 3, h % 3, k, n));
              sum += product;
              most += std::abs(product);
            }
            const float value = At((*got)[0], (h * size.m + m) * size.n + n);
            ASSERT_NEAR(value, sum, 1e-6 * most) << h << " " << m << " " << n;
            ASSERT_EQ(value, At((*among)[0], (h * (size.m + 48) + m) * size.n + n)) << h << " " << m << " " << n;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, RhsOperand, testing::ValuesIn(Forms()), [](const auto& info) {
  return absl::StrReplaceAll(info.param.name, {{" ", "_"}});
});

// What a target of CPUs does with the graph's first matmul.
Contraction Lowered(const std::string& text, KernelPlan& plan) {
  TargetTraits traits;
  traits.most_rows_in_place = 24;
  const auto lowered = lower::LowerGraph(*ParseGraph(text), traits);
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  for (const KernelPlan& kernel : lowered->kernels) {
    if (kernel.IsContraction()) plan = kernel;
  }
  return ContractionOf(plan);
}

TEST(RhsInPlace, WhichMatmulsReadIt) {
  KernelPlan plan;
  const auto in_place = [&](const std::string& text) { return Lowered(text, plan).in_place.has_value(); };
  const auto rows = [&](const std::string& text) { return ReadsRhsRows(plan, Lowered(text, plan)); };
  const auto dot = [](const char* x, const char* w, const char* attributes = "") {
    return absl::StrCat("graph @g(%x: ", x, ", %w: ", w, ") {\n  %y = dot %x, %w ", attributes, "\n  return %y\n}");
  };
  const char* const kTransposed = "{transpose_rhs = 1}";
  EXPECT_TRUE(in_place(dot("f32[M, K]", "f32[N, K]", kTransposed)));
  EXPECT_TRUE(in_place(dot("f32[M, K]", "f32[K, N]")));
  EXPECT_TRUE(in_place(dot("i32[M, K]", "i32[K, N]")));
  EXPECT_TRUE(in_place(dot("f32[1, K]", "f32[K, N]")));
  EXPECT_FALSE(in_place(dot("f32[25, K]", "f32[K, N]"))) << "so many rows are worth packing";
  EXPECT_FALSE(in_place(dot("f32[M, K]", "f32[K, 16]"))) << "few columns have kernels of their own";
  EXPECT_FALSE(in_place(dot("f16[M, K]", "f16[N, K]", kTransposed))) << "squares are of 32 bits";
  EXPECT_FALSE(in_place(dot("bf16[M, K]", "bf16[K, N]"))) << "their panels have pairs";
  EXPECT_TRUE(rows(dot("f32[M, K]", "f32[K, 64]")));
  EXPECT_TRUE(rows(dot("f16[M, K]", "f16[K, 64]")));
  EXPECT_FALSE(rows(dot("f32[M, K]", "f32[K, 72]"))) << "its last panel is in part the next row";
  EXPECT_FALSE(rows(dot("f32[M, K]", "f32[K, 512]"))) << "a panel's rows are pages apart";
  EXPECT_FALSE(rows(dot("bf16[M, K]", "bf16[K, 64]")));
}

// For few rows nothing is packed, and no memory is kept for it.
TEST(RhsInPlace, PanelsAreMadeInAdvanceForManyRowsOnly) {
  TargetTraits traits;
  traits.most_rows_in_place = 24;
  const auto lowered = lower::LowerGraph(
      *ParseGraph("graph @g(%x: f32[M, 64], %w: f32[N, 64]) {\n  %y = dot %x, %w {transpose_rhs = 1}\n  return %y\n}"),
      traits);
  ASSERT_TRUE(lowered.ok()) << lowered.status();
  const std::string host = lowered->programs[0].Text();
  EXPECT_NE(host.find("alloc w0 = 4096*floordiv(N + 15, 16)*min(floordiv(M, 25), 1) live [0, 1]\n"), std::string::npos)
      << host;
  EXPECT_NE(host.find("launch 0 g0_dot_pack(in1, w0) dims [min(floordiv(M, 25), 1), "), std::string::npos) << host;
}

// A worker's panels are those of one group of columns, for one part of K.
TEST(RhsInPlace, ScratchIsOfOneGroupOfColumns) {
  KernelPlan plan;
  Lowered("graph @g(%x: f32[M, K], %w: f32[N, K]) {\n  %y = dot %x, %w {transpose_rhs = 1}\n  return %y\n}", plan);
  TargetTraits traits;
  traits.vector_bytes = 64;
  traits.most_rows_in_place = 24;
  const Schedule schedule = cpu::ScheduleOnCpu(plan, traits);
  EXPECT_EQ(schedule.scratch_bytes, SlotExpr(256) * SlotExpr::Min(OverSlots(plan.axes.back().dim_size), 1024) + 1024)
      << schedule.Text();
}

}  // namespace
}  // namespace tailor::gemm
