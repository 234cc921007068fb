// All modules of a variant to one image a target.
#include "codegen/cuda/ptx/device_images.h"

#include "codegen/cuda/loops/emit_loops.h"
#include "codegen/cuda/ptx/assembler.h"
#include "gmock/gmock.h"
#include "graph/status_macros.h"
#include "gtest/gtest.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LLVMContext.h"
#include "tests/codegen/plan/loop_plans.h"

namespace tailor::cuda {
namespace {

using testing::HasSubstr;

// Two modules of a kernel each; both have tables of constants and use shared memory.
absl::StatusOr<DeviceImages> SoftmaxImages(const char* name) {
  const CudaTarget target = *FindCudaTarget(name);
  const KernelPlan plan = RowSoftmaxPlan();
  std::vector<std::string> modules;
  for (int number = 0; number < 2; ++number) {
    llvm::LLVMContext context;
    auto module = std::make_unique<llvm::Module>("kernels" + std::to_string(number), context);
    const std::string kernel = "k" + std::to_string(number);
    TAILOR_RETURN_IF_ERROR(EmitCudaLoops(plan, ScheduleCudaLoops(plan, target.traits), kernel, *module));
    TAILOR_ASSIGN_OR_RETURN(modules.emplace_back(), CompileDeviceModule(std::move(module), target));
  }
  return MakeDeviceImages(modules, target);
}

std::string TextOf(const DeviceImages::Image& image) {
  return {reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size()};
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(DeviceImages, ACubinAndThePtxThatLaterArchitecturesRun) {
  if (!FindAssembler().ok()) GTEST_SKIP() << FindAssembler().status().message();
  for (const char* target : {"sm_80", "sm_90", "sm_90a"}) {
    SCOPED_TRACE(target);
    const auto made = SoftmaxImages(target);
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->assembler, (*FindAssembler())->name());
    const bool has_ptx = target != std::string("sm_90a");
    ASSERT_EQ(made->images.size(), has_ptx ? 2u : 1u);
    EXPECT_EQ(made->images[0].kind, DeviceImageKind::kCubin);
    const std::string cubin = TextOf(made->images[0]);
    EXPECT_EQ(cubin.substr(0, 4), "\177ELF");
    for (const char* kernel : {".text.k0_v0", ".text.k0_v1", ".text.k1_v0", ".text.k1_v1"}) {
      EXPECT_THAT(cubin, HasSubstr(kernel));
    }
    if (!has_ptx) continue;
    const std::string ptx = TextOf(made->images[1]);
    EXPECT_EQ(made->images[1].kind, DeviceImageKind::kPtx);
    EXPECT_EQ(ptx.back(), '\0');
    EXPECT_EQ(CountOf(ptx, std::string(".target ") + target), 1u);
    EXPECT_EQ(CountOf(ptx, ".extern .shared"), 1u);
    const size_t versions = ScheduleCudaLoops(RowSoftmaxPlan(), FindCudaTarget(target)->traits).versions.size();
    EXPECT_GE(versions, 2u);
    EXPECT_EQ(CountOf(ptx, ".visible .entry"), 2 * versions);
  }
}

TEST(DeviceImages, EmulatorsGetTheKernelsAsTheyAreEmitted) {
  const auto made = SoftmaxImages("simt");
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_EQ(made->images.size(), 1u);
  EXPECT_EQ(made->images[0].kind, DeviceImageKind::kIr);
  const std::string bitcode = TextOf(made->images[0]);
  llvm::LLVMContext context;
  auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "simt"), context);
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  for (const char* kernel : {"k0_v0", "k0_v1", "k1_v0", "k1_v1"}) EXPECT_NE((*module)->getFunction(kernel), nullptr);
  EXPECT_NE((*module)->getFunction("tailor.device.barrier"), nullptr);
}

}  // namespace
}  // namespace tailor::cuda
