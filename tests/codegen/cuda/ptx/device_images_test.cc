// All modules of a variant to one image a target.
#include "codegen/cuda/ptx/device_images.h"

#include "codegen/cuda/loops/emit_loops.h"
#include "codegen/cuda/ptx/assembler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LLVMContext.h"
#include "tests/codegen/plan/loop_plans.h"

namespace tailor::cuda {
namespace {

using testing::HasSubstr;

std::vector<CudaTarget> Targets(const std::vector<const char*>& names) {
  std::vector<CudaTarget> targets;
  for (const char* name : names) targets.push_back(*FindCudaTarget(name));
  return targets;
}

// Two modules of a kernel each; both have tables of constants and use shared memory.
absl::Status EmitSoftmax(const CudaTarget& target, int number, llvm::Module& module) {
  const KernelPlan plan = RowSoftmaxPlan();
  return EmitCudaLoops(plan, ScheduleCudaLoops(plan, target.traits), "k" + std::to_string(number), module);
}

std::string TextOf(const BuiltDeviceImage& image) {
  return {reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size()};
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(DeviceImages, ACubinForEachTargetAndThePtxOfTheEarliest) {
  if (!FindAssembler().ok()) GTEST_SKIP() << FindAssembler().status().message();
  auto made = MakeDeviceImages(2, EmitSoftmax, Targets({"sm_80", "sm_90a", "sm_90"}), {.threads = 2});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->assembler, (*FindAssembler())->name());
  ASSERT_EQ(made->images.size(), 4u);
  const char* names[] = {"sm_90a", "sm_90", "sm_80"};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(made->images[i].target, names[i]);
    EXPECT_EQ(made->images[i].kind, DeviceImageKind::kCubin);
    const std::string cubin = TextOf(made->images[i]);
    EXPECT_EQ(cubin.substr(0, 4), "\177ELF");
    for (const char* kernel : {".text.k0_v0", ".text.k0_v1", ".text.k1_v0", ".text.k1_v1"}) {
      EXPECT_THAT(cubin, HasSubstr(kernel));
    }
  }
  const std::string floor = TextOf(made->images[3]);
  EXPECT_EQ(made->images[3].kind, DeviceImageKind::kPtx);
  EXPECT_EQ(made->images[3].target, "sm_80");
  EXPECT_EQ(floor.back(), '\0');
  EXPECT_EQ(CountOf(floor, ".target sm_80"), 1u);
  EXPECT_EQ(CountOf(floor, ".extern .shared"), 1u);
  const size_t versions = ScheduleCudaLoops(RowSoftmaxPlan(), FindCudaTarget("sm_80")->traits).versions.size();
  EXPECT_GE(versions, 2u);
  EXPECT_EQ(CountOf(floor, ".visible .entry"), 2 * versions);
}

TEST(DeviceImages, EmulatorsGetTheKernelsAsTheyAreEmitted) {
  auto made = MakeDeviceImages(2, EmitSoftmax, Targets({"simt"}));
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

TEST(DeviceImages, FailuresNameTheTarget) {
  const EmitDeviceModule emit = [](const CudaTarget& target, int, llvm::Module&) {
    return target.name == "sm_90" ? absl::UnimplementedError("no such kernel") : absl::OkStatus();
  };
  const absl::Status status = MakeDeviceImages(1, emit, Targets({"sm_80", "sm_90"})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(status.message(), "sm_90: no such kernel");
}

}  // namespace
}  // namespace tailor::cuda
