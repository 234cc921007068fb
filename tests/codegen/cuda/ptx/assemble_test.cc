// Kernels to cubins with the machine's own assembler; skipped where it has none.
#include "codegen/cuda/ptx/assemble.h"

#include <cstdlib>
#include <cstring>

#include "codegen/cuda/loops/emit_loops.h"
#include "codegen/cuda/ptx/compile_ptx.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/codegen/plan/loop_plans.h"

namespace tailor::cuda {
namespace {

class Assemble : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto found = FindPtxas();
    if (!found.ok()) GTEST_SKIP() << found.status().message();
    ptxas_ = *found;
    target_ = *FindCudaTarget(GetParam());
  }
  void ExpectCubin(const KernelPlan& plan) {
    llvm::LLVMContext context;
    auto module = std::make_unique<llvm::Module>("kernels", context);
    ASSERT_TRUE(EmitCudaLoops(plan, ScheduleCudaLoops(plan, target_.traits), "k", *module).ok());
    auto ptx = CompileToPtx(std::move(module), target_);
    ASSERT_TRUE(ptx.ok()) << ptx.status();
    auto cubin = AssemblePtx(ptxas_, *ptx, target_);
    ASSERT_TRUE(cubin.ok()) << cubin.status() << *ptx;
    ASSERT_GT(cubin->size(), 64u);
    EXPECT_EQ(std::memcmp(cubin->data(), "\177ELF", 4), 0);
    const char name[] = ".text.k_v0";
    const auto* bytes = reinterpret_cast<const char*>(cubin->data());
    EXPECT_NE(std::string(bytes, cubin->size()).find(name), std::string::npos) << "the kernel has code";
  }

  std::string ptxas_;
  CudaTarget target_;
};

TEST_P(Assemble, Elementwise) { ExpectCubin(BiasTanhPlan()); }
TEST_P(Assemble, Softmax) { ExpectCubin(RowSoftmaxPlan()); }
TEST_P(Assemble, NarrowRowReductions) { ExpectCubin(RowMinAndSumPlan()); }
TEST_P(Assemble, ColumnReduction) { ExpectCubin(ColumnTotalPlan()); }
TEST_P(Assemble, Gather) { ExpectCubin(GatherRowsPlan()); }

TEST_P(Assemble, RefusalsCarryTheAssemblersWords) {
  const absl::Status status = AssemblePtx(ptxas_, ".version 7.0\n.target sm_80\nnonsense\n", target_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("syntax error"));
}

INSTANTIATE_TEST_SUITE_P(Cuda, Assemble, testing::Values("sm_80", "sm_90"),
                         [](const auto& info) { return std::string(info.param); });

TEST(AssembleProcess, AMissingAssemblerIsNamed) {
  const absl::Status status = AssemblePtx("/nonexistent/ptxas", "", *FindCudaTarget("sm_80")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("cannot run /nonexistent/ptxas"));
}

TEST(FindPtxas, PathComesFirst) {
  const std::string folder = testing::TempDir() + "/tailor_find_ptxas";
  ASSERT_EQ(
      std::system(("mkdir -p " + folder + " && touch " + folder + "/ptxas && chmod +x " + folder + "/ptxas").c_str()),
      0);
  const std::string before = std::getenv("PATH");
  setenv("PATH", folder.c_str(), 1);
  auto found = FindPtxas();
  setenv("PATH", before.c_str(), 1);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, folder + "/ptxas");
}

}  // namespace
}  // namespace tailor::cuda
