#include "codegen/known_forms.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <vector>

#include "codegen/build_host_program.h"
#include "codegen/emit_cpu.h"
#include "codegen/plan_queries.h"
#include "graph/text.h"
#include "gtest/gtest.h"
#include "tests/codegen/ir_image.h"

namespace tailor {
namespace {

// The kernel of a graph that has one.
KernelPlan PlanOf(const std::string& text) {
  auto parsed = ParseGraph(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  auto lowered = LowerGraph(*parsed, TargetTraits{});
  EXPECT_TRUE(lowered.ok()) << lowered.status();
  EXPECT_EQ(lowered->kernels.size(), 1);
  return lowered->kernels[0];
}

template <typename F>
int Count(const KernelPlan& plan, F is_one) {
  int count = 0;
  for (ExprId id : ReachableExprs(plan)) count += is_one(plan.exprs[id]);
  return count;
}

int Gelus(const std::string& body) {
  const KernelPlan plan = PlanOf(
      "graph @g(%x: f32[N], %z: f32[N]) {\n"
      "  %half = constant 0.5 : f32[]\n  %one = constant 1 : f32[]\n"
      "  %r = constant 0.70710677 : f32[]\n  %root = constant 1.4142135 : f32[]\n" +
      body + "  return %y\n}\n");
  return Count(plan, [&](const Expr& e) { return GeluOperand(plan, e).has_value(); });
}

TEST(KnownForms, GeluHasItsFactorsInAnyOrder) {
  EXPECT_EQ(Gelus("  %s = mul %x, %r\n  %e = erf %s\n  %w = add %e, %one\n  %h = mul %x, %half\n  %y = mul %h, %w\n"),
            1);
  EXPECT_EQ(
      Gelus("  %s = div %x, %root\n  %e = erf %s\n  %w = add %one, %e\n  %p = mul %x, %w\n  %y = mul %p, %half\n"), 1);
  EXPECT_EQ(Gelus("  %s = mul %r, %x\n  %e = erf %s\n  %w = add %e, %one\n  %h = mul %half, %w\n  %y = mul %h, %x\n"),
            1);
}

TEST(KnownForms, WhatIsAlmostGeluIsNot) {
  const std::string weight = "  %s = mul %x, %r\n  %e = erf %s\n  %w = add %e, %one\n";
  EXPECT_EQ(Gelus(weight + "  %h = mul %z, %half\n  %y = mul %h, %w\n"), 0);
  EXPECT_EQ(Gelus(weight + "  %h = mul %x, %r\n  %y = mul %h, %w\n"), 0);
  EXPECT_EQ(Gelus(weight + "  %y = mul %x, %w\n"), 0);
  EXPECT_EQ(
      Gelus("  %s = mul %x, %half\n  %e = erf %s\n  %w = add %e, %one\n  %h = mul %x, %half\n  %y = mul %h, %w\n"), 0);
}

int Shares(const std::string& body) {
  const KernelPlan plan = PlanOf("graph @g(%x: f32[M, N]) {\n" + body + "  return %y\n}\n");
  return Count(plan, [&](const Expr& e) { return IsShareOfPowers(plan, e); });
}

TEST(KnownForms, SharesAreOfTheSumOfAllPowersNoneOfWhichExceedsOne) {
  const std::string greatest = "  %m = reduce_max %x {axes = [1], keep_dims = 1}\n  %d = sub %x, %m\n";
  const std::string powers = "  %e = exp %d\n  %s = reduce_sum %e {axes = [1], keep_dims = 1}\n";
  EXPECT_EQ(Shares(greatest + powers + "  %y = div %e, %s\n"), 1);
  EXPECT_EQ(Shares("  %d = neg %x\n" + powers + "  %y = div %e, %s\n"), 0);
  EXPECT_EQ(Shares(greatest + powers + "  %y = div %x, %s\n"), 0);
  EXPECT_EQ(
      Shares("  %m = reduce_min %x {axes = [1], keep_dims = 1}\n  %d = sub %x, %m\n" + powers + "  %y = div %e, %s\n"),
      0);
}

// A kernel of f32[N] inputs and one output, compiled for AVX-512; runs on 4096 elements.
class ElementKernel {
 public:
  static constexpr int64_t kElements = 4096;

  explicit ElementKernel(const std::string& text) : plan_(PlanOf(text)) {
    const CpuTarget target = *FindCpuTarget("x86-64-v4");
    const Schedule schedule = ScheduleLoops(plan_, target.traits);
    auto module = std::make_unique<llvm::Module>("kernel", context_);
    EXPECT_TRUE(EmitLoops(plan_, schedule, EmitTarget::Of(target.traits), "k", *module).ok());
    std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
    objects.push_back(CompileIr(std::move(module), target));
    const std::string entry = "k_v" + std::to_string(schedule.versions.size() - 1);
    auto image = LinkImage(std::move(objects), {entry});
    EXPECT_TRUE(image.ok()) << image.status();
    image_ = std::make_unique<MappedImage>(*image);
    run_ = image_->Find<Run>(entry);
  }

  void operator()(const std::vector<const float*>& inputs, float* output) const {
    std::vector<int64_t> args;
    for (const float* input : inputs) args.push_back(reinterpret_cast<int64_t>(input));
    args.insert(args.end(), {reinterpret_cast<int64_t>(output), kElements});
    run_(args.data(), 0, 1, 0);
  }

 private:
  using Run = void (*)(const int64_t*, int64_t, int64_t, int64_t);
  KernelPlan plan_;
  llvm::LLVMContext context_;
  std::unique_ptr<MappedImage> image_;
  Run run_ = nullptr;
};

// Every float with TAILOR_TEST_ALL, else every 64th, in blocks.
template <typename F>
void ForFloats(F f) {
  const uint64_t stride = std::getenv("TAILOR_TEST_ALL") != nullptr ? 1 : 64;
  std::vector<float> x(ElementKernel::kElements);
  for (uint64_t first = 0; first < uint64_t{1} << 32; first += x.size() * stride) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::bit_cast<float>(static_cast<uint32_t>(first + i * stride));
    f(x);
  }
}

double LastPlace(double value) {
  return std::max(0x1p-149, std::ldexp(1.0, std::ilogb(static_cast<float>(value)) - 23));
}

bool HasAvx512() { return RunsHere(*FindCpuTarget("x86-64-v4")); }

TEST(KnownForms, GeluIsAsCloseAsItsFormulaAllows) {
  if (!HasAvx512()) GTEST_SKIP() << "this machine has no AVX-512";
  const ElementKernel gelu(R"(
graph @g(%x: f32[N]) {
  %r = constant 0.70710677 : f32[]
  %half = constant 0.5 : f32[]
  %one = constant 1 : f32[]
  %s = mul %x, %r
  %e = erf %s
  %w = add %e, %one
  %h = mul %x, %half
  %y = mul %h, %w
  return %y
}
)");
  std::vector<float> y(ElementKernel::kElements);
  double worst_ulp = 0, worst_share = 0;
  ForFloats([&](const std::vector<float>& x) {
    gelu({x.data()}, y.data());
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i])) {
        ASSERT_TRUE(std::isnan(y[i]));
      } else if (std::isinf(x[i])) {
        ASSERT_EQ(y[i], std::max(x[i], 0.0f));
      } else if (x[i] != 0) {
        const double want = 0.5 * x[i] * std::erfc(-x[i] * std::sqrt(0.5)), error = std::fabs(y[i] - want);
        worst_share = std::max(worst_share, (error - 0x1p-149) / std::fabs(x[i]));
        if (x[i] >= -1) worst_ulp = std::max(worst_ulp, error / LastPlace(want));
      }
    }
  });
  std::printf("gelu: %.4f ulp from -1 on, elsewhere %.4f 2^-24 |x|\n", worst_ulp, worst_share * 0x1p24);
  EXPECT_LE(worst_ulp, 2);
  EXPECT_LE(worst_share, 0x1p-23);
}

}  // namespace
}  // namespace tailor
