#include "codegen/plan/parse_kernel_plan.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/plan/plan_corpus.h"

namespace tailor {
namespace {

using ::testing::HasSubstr;

// Whether two plans are equal in all but names, slots' values, and expressions that nothing uses.
class PlansMatch {
 public:
  PlansMatch(const KernelPlan& a, const KernelPlan& b) : a_(a), b_(b) {}

  void Expect() {
    ASSERT_EQ(a_.form.index(), b_.form.index());
    if (a_.IsContraction()) {
      EXPECT_EQ(std::get<ContractionForm>(a_.form), std::get<ContractionForm>(b_.form));
    }
    if (a_.IsAttention()) {
      EXPECT_EQ(std::get<AttentionForm>(a_.form), std::get<AttentionForm>(b_.form));
    }
    EXPECT_EQ(a_.fault_count, b_.fault_count);
    ASSERT_EQ(a_.axes.size(), b_.axes.size());
    for (size_t i = 0; i < a_.axes.size(); ++i) {
      EXPECT_EQ(a_.axes[i].dim_size, b_.axes[i].dim_size);
      EXPECT_EQ(a_.axes[i].role, b_.axes[i].role);
    }
    ASSERT_GE(a_.dims.size(), b_.dims.size());  // the text has no slot that nothing mentions
    for (size_t i = 0; i < b_.dims.size(); ++i) {
      EXPECT_EQ(a_.dims[i].divisor, b_.dims[i].divisor);
      EXPECT_EQ(a_.dims[i].max, b_.dims[i].max);
    }
    ASSERT_EQ(a_.buffers.size(), b_.buffers.size());
    for (size_t i = 0; i < a_.buffers.size(); ++i) {
      EXPECT_EQ(a_.buffers[i].kind, b_.buffers[i].kind);
      EXPECT_EQ(a_.buffers[i].dtype, b_.buffers[i].dtype);
      EXPECT_EQ(a_.buffers[i].dims, b_.buffers[i].dims);
      EXPECT_EQ(a_.buffers[i].layout, b_.buffers[i].layout);
    }
    ASSERT_EQ(a_.stages.size(), b_.stages.size());
    for (size_t i = 0; i < a_.stages.size(); ++i) ExpectStage(a_.stages[i], b_.stages[i]);
    if (!a_.IsChain()) return;
    ASSERT_EQ(a_.links().size(), b_.links().size());
    for (size_t i = 0; i < a_.links().size(); ++i) {
      EXPECT_EQ(a_.links()[i].buffers, b_.links()[i].buffers);
      EXPECT_EQ(a_.links()[i].dims, b_.links()[i].dims);
      PlansMatch(a_.links()[i].plan, b_.links()[i].plan).Expect();
    }
  }

 private:
  void ExpectStage(const Stage& a, const Stage& b) {
    EXPECT_EQ(a.axes, b.axes);
    ASSERT_EQ(a.statements.size(), b.statements.size());
    for (size_t i = 0; i < a.statements.size(); ++i) {
      const Statement &x = a.statements[i], &y = b.statements[i];
      EXPECT_EQ(x.buffer, y.buffer);
      EXPECT_EQ(x.reduce_axes, y.reduce_axes);
      if (!x.reduce_axes.empty()) {
        EXPECT_EQ(x.combiner, y.combiner);
        EXPECT_EQ(x.accumulate, y.accumulate);
        EXPECT_EQ(x.exclusive, y.exclusive);
      }
      EXPECT_TRUE(SameAll(x.indices, y.indices));
      EXPECT_TRUE(Same(x.value, y.value)) << a_.ExprText(x.value) << "\n" << b_.ExprText(y.value);
    }
  }

  bool SameAll(const std::vector<ExprId>& a, const std::vector<ExprId>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!Same(a[i], b[i])) return false;
    }
    return true;
  }

  // One expression of `a_` is one of `b_`.
  bool Same(ExprId a, ExprId b) {
    if (a < 0 || b < 0) return a == b;
    const auto [known, added] = same_.try_emplace(a, b);
    if (!added) return known->second == b;
    const Expr &x = a_.exprs[a], &y = b_.exprs[b];
    return x.kind == y.kind && x.dtype == y.dtype && x.op == y.op && x.ref == y.ref && x.dim_size == y.dim_size &&
           x.bits == y.bits && SameAll(x.args, y.args) && Same(x.predicate, y.predicate);
  }

  const KernelPlan &a_, &b_;
  std::map<ExprId, ExprId> same_;
};

void ExpectReadsBack(const KernelPlan& plan) {
  const std::string text = plan.Text();
  const auto parsed = ParseKernelPlan(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status() << "\n" << text;
  ASSERT_EQ(parsed->Text(), text);
  PlansMatch(plan, *parsed).Expect();
  if (testing::Test::HasFailure()) FAIL() << text;
}

TEST(ParseKernelPlan, ReadsWhatItsTextSays) {
  const std::string text = R"(kernel axes [a0: d0 parallel, a1: 64 tile, a2: d2 ordered]
  d0: multiple of 8, at most 4096, likely 64 or 128
  d1: multiple of 4
  in b0: f32[d0, 64]
  in b1: i64[d1]
  out b2: f16[d0, 64]
  local b3: f32[]
  faults: 2
  stage over [a1, a2]
    e0 = (0 < (a0 - 1))
    b3[] = reduce add over [a1] in f32 mul(mul(b0[a0, a1] if e0, 2f40000000), param(d3))
    b3[] = exclusive scan max over [a2] in f32 select(e0, -inffff800000, 1e-05f3727c5ac)
  stage over [a1]
    b2[a0, a1] = cast<f16>(cast<f32>(sub(sub(i32:0x5, param<i32>(d3)), cast<i32>(param<i16>(d2)))))
    b2[a0, a1] = cast<f16>(add<f32>(b3[], b0[gather(b1[((a0 * 3) % d1)], d0, fault 1) if (a1 < 5), bcast(a1, d2)]))
)";
  const auto plan = ParseKernelPlan(text);
  ASSERT_TRUE(plan.ok()) << plan.status();
  // add<f32> says what its operands say.
  std::string expected = text;
  expected.replace(expected.find("add<f32>"), 8, "add");
  EXPECT_EQ(plan->Text(), expected);
  EXPECT_EQ(plan->fault_count, 2);
  EXPECT_EQ(plan->dims.size(), 4u);
  EXPECT_EQ(plan->dims[0].divisor, 8);
  EXPECT_EQ(plan->axes[2].role, AxisRole::kOrdered);
}

TEST(ParseKernelPlan, SaysWhatItExpected) {
  const auto error = [](const char* text) { return std::string(ParseKernelPlan(text).status().message()); };
  EXPECT_EQ(error("colonel axes []"), "line 1, column 8: expected a kind of kernel");
  EXPECT_EQ(error("kernel axes [a1: 3 parallel]"), "line 1, column 14: expected 'a0:'");
  EXPECT_EQ(error("kernel axes [a0: 3 paralel]"), "line 1, column 27: expected an axis' role");
  EXPECT_EQ(error("kernel axes []\n  in b0: f31[]"), "line 2, column 13: no dtype is 'f31'");
  EXPECT_EQ(error("kernel axes []\n  in b0: f32[2]\n  stage over []\n    b1[] = 1"),
            "line 4, column 7: there is no such buffer");
  EXPECT_EQ(error("kernel axes []\n  out b0: f32[]\n  stage over []\n    b0[] = sine(a0)"),
            "line 4, column 16: no op is 'sine'");
  EXPECT_EQ(error("kernel axes []\n  out b0: f32[]\n  stage over []\n    b0[] = cast(0)"),
            "line 4, column 19: cast does not say its type");
  EXPECT_EQ(error("kernel axes []\n  out b0: f32[]\n  stage over []\n    b0[] = e0"),
            "line 4, column 14: there is no such expression");
  EXPECT_EQ(error("kernel axes [] tail"), "line 1, column 16: expected a buffer, a link, a stage or the end");
  const std::string deep(3000, '(');
  EXPECT_THAT(error(absl::StrCat("kernel axes []\n  out b0: f32[]\n  stage over []\n    b0[] = ", deep).c_str()),
              HasSubstr("nested too deeply"));
}

TEST(ParseKernelPlan, ReadsEveryPlanOfTheCorpus) {
  EXPECT_GT(ForEachPlanOfCorpus([](const KernelPlan& plan) {
              if (!testing::Test::HasFailure()) ExpectReadsBack(plan);
            }),
            1000);
}

}  // namespace
}  // namespace tailor
