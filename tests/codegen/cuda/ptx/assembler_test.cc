// Which assembler is taken, what it makes, and what must not be in its log.
#include "codegen/cuda/ptx/assembler.h"

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/ptx/assemble.h"
#include "codegen/cuda/ptx/nv_jit_link.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tailor::cuda {
namespace {

using testing::HasSubstr;

// Holds `count` words at once in at most `registers` registers.
std::string KernelOf(const char* name, int count, int registers) {
  std::string ptx = absl::StrCat(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry ", name,
                                 "(.param .u64 p)\n.maxnreg ", registers,
                                 "\n{\n.reg .b64 %a;\n.reg .b32 %w<200>;\nld.param.u64 %a, [p];\n");
  for (int i = 0; i < count; ++i) absl::StrAppend(&ptx, "ld.volatile.global.b32 %w", i, ", [%a+", 4 * i, "];\n");
  for (int i = 0; i < count; ++i)
    absl::StrAppend(&ptx, "st.volatile.global.b32 [%a+", 4 * (count - i), "], %w", i, ";\n");
  return ptx + "ret;\n}\n";
}

void ExpectAssembles(const Assembler& assembler) {
  const CudaTarget target = *FindCudaTarget("sm_80");
  const auto good = assembler.Assemble(KernelOf("small", 4, 64), target);
  ASSERT_TRUE(good.ok()) << good.status();
  const std::string bytes(reinterpret_cast<const char*>(good->cubin.data()), good->cubin.size());
  EXPECT_EQ(bytes.substr(0, 4), "\177ELF");
  EXPECT_THAT(bytes, HasSubstr(".text.small"));
  EXPECT_THAT(good->log, HasSubstr("registers"));
  EXPECT_TRUE(CheckAssemblerLog(good->log).ok()) << good->log;

  const auto spilling = assembler.Assemble(KernelOf("large", 100, 24), target);
  ASSERT_TRUE(spilling.ok()) << spilling.status();
  const absl::Status judged = CheckAssemblerLog(spilling->log);
  EXPECT_EQ(judged.code(), absl::StatusCode::kInternal) << spilling->log;
  EXPECT_THAT(std::string(judged.message()), HasSubstr("kernel large: "));
  EXPECT_THAT(std::string(judged.message()), HasSubstr("bytes spill stores"));

  const absl::Status refused = assembler.Assemble(".version 7.0\n.target sm_80\nnonsense\n", target).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("syntax error"));
}

TEST(Assembler, NvJitLink) {
  const auto assembler = LoadNvJitLink();
  if (!assembler.ok()) GTEST_SKIP() << assembler.status().message();
  EXPECT_THAT((*assembler)->name(), HasSubstr("nvJitLink 1"));
  ExpectAssembles(**assembler);
}

TEST(Assembler, Ptxas) {
  const auto path = FindPtxas();
  if (!path.ok()) GTEST_SKIP() << path.status().message();
  const auto assembler = MakePtxas(*path);
  EXPECT_EQ(assembler->name(), "ptxas " + *path);
  ExpectAssembles(*assembler);
}

// One variable of the environment while a test runs.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Assembler, TheEnvironmentLeavesOutOthers) {
  const Environment only("TAILOR_ASSEMBLER", "none");
  const absl::Status status = FindAssembler().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "TAILOR_ASSEMBLER is none");
}

TEST(Assembler, ALibraryThatIsNotThereIsNamed) {
  const Environment folder("TAILOR_NVJITLINK", "/nonexistent/libnvJitLink.so.12");
  const absl::Status status = LoadNvJitLink().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "no nvJitLink: tried /nonexistent/libnvJitLink.so.12");
  EXPECT_EQ(FindAssembler().status(), status);
}

TEST(Assembler, ALibraryWithoutTheSymbolsIsNamed) {
  const Environment folder("TAILOR_NVJITLINK", "libm.so.6");
  EXPECT_EQ(LoadNvJitLink().status().message(), "no nvJitLink: tried libm.so.6 (has no nvJitLinkCreate)");
}

TEST(AssemblerLog, FatalNotesNameTheKernel) {
  constexpr char kLog[] =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : (C7510) Potential Performance Loss: something else in function 'k0_v0'\n"
      "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized in function "
      "'k1_v0'\n"
      "ptxas info    : Compiling entry function 'k2_v0' for 'sm_90a'\n"
      "ptxas info    : Function properties for k2_v0\n"
      "    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Compiling entry function 'k3_v0' for 'sm_90a'\n"
      "ptxas info    : (C7508) 'setmaxnreg' ignored\n";
  const absl::Status status = CheckAssemblerLog(kLog);
  EXPECT_EQ(status.message(),
            "kernel k1_v0: ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are "
            "serialized in function 'k1_v0'; kernel k3_v0: ptxas info    : (C7508) 'setmaxnreg' ignored");
  EXPECT_TRUE(CheckAssemblerLog("").ok());
}

}  // namespace
}  // namespace tailor::cuda
