// Matmuls on warpgroups to cubins with the machine's own assembler: the instructions that they are for are there, no
// register spills, and matmuls run one behind another without waiting. Skipped where the machine has no assembler.
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/cuda/ptx/assembled.h"
#include "tests/codegen/cuda/ptx/disassemble.h"
#include "tests/codegen/plan/matmul_case.h"

namespace tailor::cuda {
namespace {

using testing::HasSubstr;
using testing::Not;

class WarpgroupCubin : public testing::TestWithParam<std::tuple<DType, const char*>> {
 protected:
  // The versions on warpgroups alone.
  void Assemble(const MatmulCaseForm& form) {
    const CudaTarget target = *FindCudaTarget("sm_90a");
    const KernelPlan plan = MakeMatmulPlan(form);
    CudaSchedule schedule = *ScheduleOnCuda(plan, target.traits);
    std::erase_if(schedule.versions, [](const CudaVersion& v) { return v.tile.kind != MatmulTile::Kind::kWarpgroup; });
    ASSERT_FALSE(schedule.versions.empty());
    auto assembled = AssembleKernels(plan, schedule, target);
    if (absl::IsNotFound(assembled.status())) GTEST_SKIP() << assembled.status().message();
    ASSERT_TRUE(assembled.ok()) << assembled.status();
    assembled_ = *std::move(assembled);
  }

  MatmulCaseForm Form() const {
    const std::string name = std::get<1>(GetParam());
    MatmulCaseForm form{.dtype = std::get<0>(GetParam()), .pairs = false};
    if (name == "epilogue") form.n = 1024, form.k = 768;
    if (name == "gathered") form.transpose_lhs = true;
    if (name == "transposed") form.transpose_out = true;
    form.epilogue = name == "epilogue" || name == "transposed";
    form.heads = name == "heads";
    if (form.heads) form.batch = {kDynamic, 12}, form.rhs_has_batch = {true, true};
    return form;
  }

  Assembled assembled_;
};

TEST_P(WarpgroupCubin, NothingSpillsIsSerialisedOrStoredAlone) {
  Assemble(Form());
  if (IsSkipped()) return;
  const absl::Status clean = CheckAssemblerLog(assembled_.assembly.log);
  EXPECT_TRUE(clean.ok()) << clean;
  EXPECT_THAT(assembled_.assembly.log, Not(HasSubstr("(C75")));
  EXPECT_THAT(assembled_.ptx, HasSubstr("wgmma.mma_async.sync.aligned.m64n"));
  EXPECT_THAT(assembled_.ptx, HasSubstr("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier"));
  EXPECT_THAT(assembled_.ptx, Not(HasSubstr(".local"))) << "what copies are told of tensors stays among the parameters";
  // Sums are staged in pairs, but where outputs lie along rows: there pairs begin at no multiple of 8 bytes.
  const bool along_rows = std::string(std::get<1>(GetParam())) == "transposed";
  EXPECT_EQ(assembled_.ptx.find("st.shared.v2.f32") == std::string::npos, along_rows);
  if (std::string(std::get<1>(GetParam())) == "epilogue") {  // of two elements at once
    EXPECT_THAT(assembled_.ptx, HasSubstr(std::get<0>(GetParam()) == DType::kF16 ? "fma.rn.f16x2" : "fma.rn.bf16x2"));
  }
}

class WarpgroupCode : public WarpgroupCubin {};

TEST_P(WarpgroupCode, HasTheInstructionsOfTheTensorCores) {
  Assemble(Form());
  if (IsSkipped()) return;
  const std::optional<std::string> code = Disassemble(assembled_.assembly.cubin);
  if (!code) GTEST_SKIP() << kNoDisassembler;
  EXPECT_THAT(*code, HasSubstr("HGMMA.64x"));
  EXPECT_THAT(*code, HasSubstr("UTMALDG.3D"));
  // A local access would be a spill or a map that was copied.
  EXPECT_THAT(*code, Not(HasSubstr("STL")));
}

std::string NameOfCase(const testing::TestParamInfo<std::tuple<DType, const char*>>& info) {
  return std::string(NameOf(std::get<0>(info.param))) + "_" + std::get<1>(info.param);
}

INSTANTIATE_TEST_SUITE_P(Cuda, WarpgroupCubin,
                         testing::Combine(testing::Values(DType::kF16, DType::kBF16),
                                          testing::Values("plain", "epilogue", "gathered", "transposed", "heads")),
                         NameOfCase);
INSTANTIATE_TEST_SUITE_P(Cuda, WarpgroupCode,
                         testing::Combine(testing::Values(DType::kF16, DType::kBF16), testing::Values("epilogue")),
                         NameOfCase);

}  // namespace
}  // namespace tailor::cuda
