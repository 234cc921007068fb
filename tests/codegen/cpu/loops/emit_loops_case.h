// A fixture of tests that build the loops of a plan for each CPU level, and run them where this CPU can.
#ifndef TAILOR_TESTS_CODEGEN_CPU_LOOPS_EMIT_LOOPS_CASE_H_
#define TAILOR_TESTS_CODEGEN_CPU_LOOPS_EMIT_LOOPS_CASE_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "codegen/cpu/loops/emit_loops.h"
#include "codegen/cpu/schedule/schedule_loops.h"
#include "gtest/gtest.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/codegen/cpu/poll_counter.h"
#include "tests/codegen/link/ir_image.h"

namespace tailor::cpu {

// Ends the test where this CPU cannot execute what was built: then it was only disassembled.
#define BUILD_OR_SKIP(plan) \
  Build(plan);              \
  if (IsSkipped()) return

class EmitLoopsCase : public ::testing::TestWithParam<const char*> {
 protected:
  void Build(const KernelPlan& plan) {
    const CpuTarget target = *FindCpuTarget(GetParam());
    schedule_ = ScheduleLoops(plan, target.traits);
    polls_ = PollsOnHost(plan, schedule_);
    auto module = std::make_unique<llvm::Module>("kernel", context_);
    ASSERT_TRUE(EmitLoops(plan, schedule_, EmitTarget::Of(target.traits), "k", *module).ok());
    std::vector<std::unique_ptr<llvm::MemoryBuffer>> objects;
    objects.push_back(CompileIr(std::move(module), target));
    ASSERT_NE(objects.back(), nullptr);
    std::vector<std::string> entries;
    for (size_t v = 0; v < schedule_.versions.size(); ++v) entries.push_back("k_v" + std::to_string(v));
    auto image = LinkImage(std::move(objects), entries);
    ASSERT_TRUE(image.ok()) << image.status();
    image_ = std::make_unique<CodeImage>(*image, target);
    if (const std::string why = WhyNotHere(target); !why.empty()) GTEST_SKIP() << why << "; it was disassembled";
  }
  // The function of the first version, or the one that it calls.
  std::string Emitted(const KernelPlan& plan) {
    const CpuTarget target = *FindCpuTarget(GetParam());
    llvm::Module module("kernel", context_);
    EXPECT_TRUE(EmitLoops(plan, ScheduleLoops(plan, target.traits), EmitTarget::Of(target.traits), "k", module).ok());
    std::string text;
    llvm::raw_string_ostream stream(text);
    const llvm::Function* body = module.getFunction("k_v1_body");
    (body != nullptr ? body : module.getFunction("k_v0"))->print(stream);
    return text;
  }
  int FirstVersion(bool (*wanted)(const Version&)) const {
    return static_cast<int>(std::find_if(schedule_.versions.begin(), schedule_.versions.end(), wanted) -
                            schedule_.versions.begin());
  }
  // The first version for rows of any length whose tasks are whole rows.
  int Whole() const {
    return FirstVersion([](const Version& version) {
      return !version.parts && !version.short_rows && !absl::StrContains(VersionText(version), "==");
    });
  }
  // Runs all tasks in two pieces, as two threads would; without KernelParameter::kContext in `args`.
  void Run(const std::vector<int64_t>& args, const std::vector<int64_t>& dims) { Run(args, dims, Whole()); }
  void Run(std::vector<int64_t> args, std::vector<int64_t> dims, int version) {
    const int64_t tasks = *schedule_.tasks.Evaluate(dims);
    auto kernel = image_->Find<void (*)(const int64_t*, int64_t, int64_t, int64_t)>("k_v" + std::to_string(version));
    if (polls_) args.push_back(run_->slot());
    const int64_t half = tasks / 2;
    if (half > 0) kernel(args.data(), 0, half, 0);
    if (half < tasks) kernel(args.data(), half, tasks, 1);
  }
  static std::vector<float> Random(size_t count) {
    std::mt19937 random(7);
    std::vector<float> values(count);
    for (float& v : values) v = std::uniform_real_distribution<float>(-3, 3)(random);
    return values;
  }
  static int64_t Slot(const void* p) { return reinterpret_cast<int64_t>(p); }

  llvm::LLVMContext context_;
  Schedule schedule_;
  bool polls_ = false;
  std::optional<PollCounter> run_{std::in_place};
  std::unique_ptr<CodeImage> image_;
};

}  // namespace tailor::cpu

#endif  // TAILOR_TESTS_CODEGEN_CPU_LOOPS_EMIT_LOOPS_CASE_H_
