// Matmul kernels to cubins with the machine's own assembler: no kernel of the family spills. Skipped where it has
// none.
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/cuda/ptx/assembled.h"
#include "tests/codegen/cuda/ptx/disassemble.h"
#include "tests/codegen/plan/matmul_case.h"

namespace tailor::cuda {
namespace {

using testing::HasSubstr;
using testing::Not;

// Of kernel "k_v<i>": whether its blocks share tiles. The compiler leaves out those that spill.
bool SharesTiles(const CudaSchedule& schedule, const std::string& kernel) {
  return schedule.versions.at(std::stoul(kernel.substr(std::string("k_v").size()))).cooperative;
}

// A cubin of all versions, none of which spills, but for one that `may_be_left_out`. Skips the test where there is no
// assembler.
void ExpectCubin(const char* name, MatmulCaseForm form, Assembly* out = nullptr, bool may_be_left_out = false) {
  form.pairs = false;
  CudaTarget target = *FindCudaTarget(name);
  target.traits.tf32_matmuls = form.tf32;
  const KernelPlan plan = MakeMatmulPlan(form);
  const CudaSchedule schedule = *ScheduleOnCuda(plan, target.traits);
  auto assembled = AssembleKernels(plan, schedule, target);
  if (absl::IsNotFound(assembled.status())) GTEST_SKIP() << assembled.status().message();
  ASSERT_TRUE(assembled.ok()) << assembled.status();
  std::vector<AssemblerProblem> problems = FindProblems(assembled->assembly.log);
  const bool left_out = may_be_left_out && problems.size() == 1 && problems[0].spills;
  if (left_out && SharesTiles(schedule, problems[0].kernel)) problems.clear();
  EXPECT_TRUE(problems.empty()) << ToStatus(problems);
  if (out != nullptr) *out = std::move(assembled->assembly);
}

class AssembleMatmul : public testing::TestWithParam<std::tuple<const char*, DType>> {
 protected:
  void ExpectCubin(const MatmulCaseForm& form) { cuda::ExpectCubin(std::get<0>(GetParam()), form); }
  const DType dtype_ = std::get<1>(GetParam());
};

TEST_P(AssembleMatmul, DynamicDimSizes) { ExpectCubin({.dtype = dtype_, .epilogue = true}); }
TEST_P(AssembleMatmul, FixedWeights) { ExpectCubin({.dtype = dtype_, .n = 1024, .k = 768, .epilogue = true}); }
TEST_P(AssembleMatmul, OneRow) { ExpectCubin({.dtype = dtype_, .m = 1, .n = 1000, .epilogue = true}); }
TEST_P(AssembleMatmul, LeftOperandsThatAreNoRuns) { ExpectCubin({.dtype = dtype_, .transpose_lhs = true}); }
TEST_P(AssembleMatmul, TransposedOutput) { ExpectCubin({.dtype = dtype_, .transpose_out = true, .epilogue = true}); }
TEST_P(AssembleMatmul, Heads) {
  const MatmulCaseForm form{.dtype = dtype_, .batch = {kDynamic, 12}, .rhs_has_batch = {true, true}, .heads = true};
  // 64 sums a thread, where shares end, and four dims of addresses.
  cuda::ExpectCubin(std::get<0>(GetParam()), form, nullptr, /*may_be_left_out=*/dtype_ == DType::kF32);
}

// Each element type for one target, unless all is to be tested.
std::vector<std::tuple<const char*, DType>> Slice() {
  const bool all = std::getenv("TAILOR_TEST_ALL") != nullptr;
  std::vector<std::tuple<const char*, DType>> slice;
  int turn = 0;
  for (const char* target : {"sm_80", "sm_90", "sm_90a"}) {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64}) {
      if (turn++ % 3 == 0 || all) slice.emplace_back(target, dtype);
    }
  }
  return slice;
}

INSTANTIATE_TEST_SUITE_P(Cuda, AssembleMatmul, testing::ValuesIn(Slice()), [](const auto& info) {
  return std::string(std::get<0>(info.param)) + "_" + NameOf(std::get<1>(info.param));
});

// One target a day, unless all is to be tested.
class AssembleTf32Matmul : public testing::TestWithParam<const char*> {
 public:
  static std::vector<const char*> Slice() {
    std::vector<const char*> targets = {"sm_80", "sm_90", "sm_90a"};
    if (std::getenv("TAILOR_TEST_ALL") == nullptr) targets = {targets[std::time(nullptr) / 86400 % targets.size()]};
    return targets;
  }
};

TEST_P(AssembleTf32Matmul, DynamicDimSizes) { ExpectCubin(GetParam(), {.tf32 = true, .epilogue = true}); }
TEST_P(AssembleTf32Matmul, FixedWeights) {
  ExpectCubin(GetParam(), {.n = 1024, .k = 768, .tf32 = true, .epilogue = true});
}
TEST_P(AssembleTf32Matmul, LeftOperandsThatAreNoRuns) {
  ExpectCubin(GetParam(), {.tf32 = true, .transpose_lhs = true});
}
TEST_P(AssembleTf32Matmul, TransposedOutput) {
  ExpectCubin(GetParam(), {.tf32 = true, .transpose_out = true, .epilogue = true});
}

TEST_P(AssembleTf32Matmul, HasTheInstructionsOfTheTensorCores) {
  Assembly assembly;
  ExpectCubin(GetParam(), {.m = 4096, .tf32 = true}, &assembly);
  if (IsSkipped()) return;
  const std::optional<std::string> code = Disassemble(assembly.cubin);
  if (!code) GTEST_SKIP() << kNoDisassembler;
  EXPECT_THAT(*code, HasSubstr("HMMA.1688.F32.TF32"));
  EXPECT_THAT(*code, HasSubstr("LDSM.16.M88.4"));
  EXPECT_THAT(*code, HasSubstr("LDGSTS.E.BYPASS"));
  EXPECT_THAT(*code, Not(HasSubstr("STL")));
}

INSTANTIATE_TEST_SUITE_P(Cuda, AssembleTf32Matmul, testing::ValuesIn(AssembleTf32Matmul::Slice()),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tailor::cuda
