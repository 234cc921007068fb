// The fake driver takes parameters as a GPU's driver does.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "exec/cuda/driver.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/emulator/fake_driver_in_use.h"

namespace tailor {
namespace {

// Each thread stores the 64-bit parameter.
constexpr char kKernels[] = R"(
declare i32 @tailor.device.thread_id()

define ptx_kernel void @words(ptr addrspace(1) %to, i64 %word) {
  %thread = call i32 @tailor.device.thread_id()
  %at = getelementptr i64, ptr addrspace(1) %to, i32 %thread
  store i64 %word, ptr addrspace(1) %at
  ret void
}

define ptx_kernel void @object(ptr addrspace(1) %to, ptr byval([128 x i8]) align 64 %map, i64 %word) {
  %thread = call i32 @tailor.device.thread_id()
  %at = getelementptr i64, ptr addrspace(1) %to, i32 %thread
  store i64 %word, ptr addrspace(1) %at
  ret void
}
)";

std::string Bitcode() {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(kKernels, problem, context);
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  if (module != nullptr) llvm::WriteBitcodeToFile(*module, stream);
  return bitcode;
}

class FakeLaunches : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TAILOR_CUDA_DRIVER", TAILOR_FAKE_CUDA_LIBRARY, /*overwrite=*/1);
    ASSERT_TRUE(CudaDriver::Load(TAILOR_FAKE_CUDA_LIBRARY, &driver_).ok());
    ASSERT_EQ(driver_.Init(0), cuda::kSuccess);
    cuda::Context context = nullptr;
    ASSERT_EQ(driver_.DevicePrimaryCtxRetain(&context, 0), cuda::kSuccess);
    ASSERT_EQ(driver_.CtxSetCurrent(context), cuda::kSuccess);
    const std::string bitcode = Bitcode();
    ASSERT_EQ(driver_.LoadIr(&module_, bitcode.data(), bitcode.size()), cuda::kSuccess);
    ASSERT_EQ(driver_.StreamCreate(&stream_, cuda::kStreamNonBlocking), cuda::kSuccess);
    ASSERT_EQ(driver_.MemAlloc(&to_, kThreads * sizeof(int64_t)), cuda::kSuccess);
  }
  ~FakeLaunches() override {
    driver_.MemFree(to_);
    driver_.StreamDestroy(stream_);
    driver_.ModuleUnload(module_);
    EXPECT_STREQ(tailor_fake_cuda_complaints(), "");
  }

  cuda::Result Launch(const char* kernel, void** parameters, void** extra) {
    cuda::Function function = nullptr;
    EXPECT_EQ(driver_.ModuleGetFunction(&function, module_, kernel), cuda::kSuccess);
    return driver_.LaunchKernel(function, 1, 1, 1, kThreads, 1, 1, 0, stream_, parameters, extra);
  }
  cuda::Result LaunchWithBuffer(const char* kernel, std::vector<int64_t> slots) {
    size_t bytes = slots.size() * sizeof(int64_t);
    void* extra[] = {cuda::kLaunchParamBufferPointer, slots.data(), cuda::kLaunchParamBufferSize, &bytes,
                     cuda::kLaunchParamEnd};
    return Launch(kernel, nullptr, extra);
  }
  int64_t Stored() {
    EXPECT_EQ(driver_.StreamSynchronize(stream_), cuda::kSuccess);
    int64_t word = 0;
    EXPECT_NE(tailor_fake_cuda_peek(&word, reinterpret_cast<void*>(to_), sizeof(word)), 0);
    return word;
  }

  static constexpr unsigned kThreads = 32;
  CudaDriver driver_;
  cuda::Module module_ = nullptr;
  cuda::Stream stream_ = nullptr;
  cuda::Address to_ = 0;
};

TEST_F(FakeLaunches, WordsComeOneByOneOrInABuffer) {
  int64_t word = 17;
  void* parameters[] = {&to_, &word};
  EXPECT_EQ(Launch("words", parameters, nullptr), cuda::kSuccess);
  EXPECT_EQ(Stored(), 17);
  EXPECT_EQ(LaunchWithBuffer("words", {static_cast<int64_t>(to_), 18}), cuda::kSuccess);
  EXPECT_EQ(Stored(), 18);
}

TEST_F(FakeLaunches, ObjectsComeOneByOne) {
  int64_t map[16] = {}, word = 19;
  void* parameters[] = {&to_, map, &word};
  EXPECT_EQ(Launch("object", parameters, nullptr), cuda::kSuccess);
  EXPECT_EQ(Stored(), 19);
  std::vector<int64_t> slots(8 + 16 + 1);
  slots[0] = static_cast<int64_t>(to_);
  EXPECT_EQ(LaunchWithBuffer("object", slots), cuda::kLaunchOutOfResources);
}

TEST_F(FakeLaunches, ParametersComeOneWay) {
  int64_t word = 17;
  void* parameters[] = {&to_, &word};
  void* extra[] = {cuda::kLaunchParamEnd};
  EXPECT_EQ(Launch("words", nullptr, nullptr), cuda::kInvalidValue);
  EXPECT_EQ(Launch("words", parameters, extra), cuda::kInvalidValue);
}

}  // namespace
}  // namespace tailor
