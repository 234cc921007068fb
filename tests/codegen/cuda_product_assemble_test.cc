// Product kernels to cubins with the machine's own assembler: no kernel of the family spills. Skipped where it has
// none.
#include <string>
#include <tuple>

#include "codegen/cuda/assembler.h"
#include "codegen/cuda/compile_ptx.h"
#include "codegen/cuda/emit_cuda.h"
#include "gtest/gtest.h"
#include "tests/codegen/product_case.h"

namespace tailor {
namespace {

class AssembleProduct : public testing::TestWithParam<std::tuple<const char*, DType>> {
 protected:
  void ExpectCubin(ProductForm form) {
    form.pairs = false;
    auto assembler = FindAssembler();
    if (!assembler.ok()) GTEST_SKIP() << assembler.status().message();
    const CudaTarget target = *FindCudaTarget(std::get<0>(GetParam()));
    const KernelPlan plan = MakeProductPlan(form);
    const CudaSchedule schedule = *ScheduleOnCuda(plan, target.traits);
    llvm::LLVMContext context;
    auto module = std::make_unique<llvm::Module>("kernels", context);
    ASSERT_TRUE(EmitOnCuda(plan, schedule, "k", *module).ok());
    auto ptx = CompileToPtx(std::move(module), target);
    ASSERT_TRUE(ptx.ok()) << ptx.status();
    auto assembly = (*assembler)->Assemble(*ptx, target);
    ASSERT_TRUE(assembly.ok()) << assembly.status() << *ptx;
    const absl::Status clean = CheckAssemblerLog(assembly->log);
    EXPECT_TRUE(clean.ok()) << clean;
  }
  const DType dtype_ = std::get<1>(GetParam());
};

TEST_P(AssembleProduct, DynamicExtents) { ExpectCubin({.dtype = dtype_, .epilogue = true}); }
TEST_P(AssembleProduct, FixedWeights) { ExpectCubin({.dtype = dtype_, .n = 1024, .k = 768, .epilogue = true}); }
TEST_P(AssembleProduct, OneRow) { ExpectCubin({.dtype = dtype_, .m = 1, .n = 1000, .epilogue = true}); }
TEST_P(AssembleProduct, LeftOperandsThatAreNoRuns) { ExpectCubin({.dtype = dtype_, .transpose_lhs = true}); }
TEST_P(AssembleProduct, TransposedOutput) { ExpectCubin({.dtype = dtype_, .transpose_out = true, .epilogue = true}); }
TEST_P(AssembleProduct, Heads) {
  ExpectCubin({.dtype = dtype_, .batch = {kDynamic, 12}, .rhs_has_batch = {true, true}, .heads = true});
}

INSTANTIATE_TEST_SUITE_P(Cuda, AssembleProduct,
                         testing::Combine(testing::Values("sm_80", "sm_90", "sm_90a"),
                                          testing::Values(DType::kF32, DType::kBF16, DType::kF16, DType::kF64)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_" + NameOf(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace tailor
