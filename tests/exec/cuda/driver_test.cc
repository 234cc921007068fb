#include "exec/cuda/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/exec/sample_tensors.h"

namespace tailor {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(CudaDriver, AMissingLibraryIsNamed) {
  CudaDriver driver;
  EXPECT_THAT(Text(CudaDriver::Load("libtailor_no_such_cuda.so", &driver)),
              StartsWith("9: the CUDA driver cannot be loaded: libtailor_no_such_cuda.so: "));
  EXPECT_EQ(driver.Init, nullptr);
}

TEST(CudaDriver, ALibraryWithoutItsFunctionsIsNamed) {
  CudaDriver driver;
  EXPECT_EQ(Text(CudaDriver::Load("libc.so.6", &driver)), "9: libc.so.6 has no cuInit: it is older than CUDA 11.2");
}

TEST(CudaDriver, TheEnvironmentNamesAnother) {
  const char* given = std::getenv("TAILOR_CUDA_DRIVER");
  const std::string before = given != nullptr ? given : "";
  unsetenv("TAILOR_CUDA_DRIVER");
  EXPECT_EQ(CudaDriverPath(), "libcuda.so.1");
  setenv("TAILOR_CUDA_DRIVER", "/opt/other/libcuda.so", 1);
  EXPECT_EQ(CudaDriverPath(), "/opt/other/libcuda.so");
  setenv("TAILOR_CUDA_DRIVER", before.c_str(), 1);
}

TEST(CudaFailure, NamesCallPurposeAndError) {
  CudaDriver driver;
  driver.GetErrorName = [](cuda::Result result, const char** name) {
    if (result != cuda::kOutOfMemory) return cuda::kInvalidValue;
    *name = "CUDA_ERROR_OUT_OF_MEMORY";
    return cuda::kSuccess;
  };
  driver.GetErrorString = [](cuda::Result result, const char** text) {
    if (result != cuda::kOutOfMemory) return cuda::kInvalidValue;
    *text = "out of memory";
    return cuda::kSuccess;
  };
  EXPECT_EQ(Text(CudaFailure(driver, cuda::kSuccess, "cuMemAlloc", "a test")), "OK");
  EXPECT_EQ(Text(CudaFailure(driver, cuda::kOutOfMemory, "cuMemAlloc", "a test")),
            "8: cuMemAlloc for a test: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
  EXPECT_EQ(Text(CudaFailure(driver, static_cast<cuda::Result>(999), "cuInit", "a test")),
            "13: cuInit for a test: an unknown error (999)");
}

}  // namespace
}  // namespace tailor
