// What tests of CUDA devices share: the fake driver, and the sample program on its device.
#ifndef TAILOR_TESTS_EXEC_CUDA_FIXTURE_H_
#define TAILOR_TESTS_EXEC_CUDA_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "exec/cuda_device.h"
#include "exec/executable.h"
#include "exec/session.h"
#include "tests/emulator/fake_driver.h"
#include "tests/exec/sample_tensors.h"
#include "tests/support/sample_device_program.h"

namespace tailor {

// Memory of a device, allocated beside Tailor as another library would.
class DeviceBytes {
 public:
  DeviceBytes(const CudaDevice& device, size_t bytes) : device_(device), bytes_(bytes) {
    EXPECT_EQ(Text(device.RetainContext()), "OK");
    const CurrentContext current(device);
    EXPECT_EQ(device.driver().MemAlloc(&address_, bytes), cuda::kSuccess);
  }
  template <typename T>
  DeviceBytes(const CudaDevice& device, const std::vector<T>& values) : DeviceBytes(device, values.size() * sizeof(T)) {
    EXPECT_TRUE(tailor_fake_cuda_poke(data(), values.data(), bytes_));
  }
  DeviceBytes(const DeviceBytes&) = delete;
  ~DeviceBytes() {
    const CurrentContext current(device_);
    device_.driver().MemFree(address_);
  }
  void* data() const { return reinterpret_cast<void*>(address_); }
  template <typename T>
  std::vector<T> Read() const {
    std::vector<T> values(bytes_ / sizeof(T));
    EXPECT_TRUE(tailor_fake_cuda_peek(values.data(), data(), bytes_));
    return values;
  }

 private:
  const CudaDevice& device_;
  const size_t bytes_;
  cuda::Address address_ = 0;
};

// The driver of this process, unless the environment has named one.
inline const int kFakeDriverChosen = setenv("TAILOR_CUDA_DRIVER", TAILOR_FAKE_CUDA_LIBRARY, /*overwrite=*/0);

// Each test begins with a whole device and ends without complaint, and with nothing left on it.
class CudaTest : public testing::Test {
 protected:
  CudaTest() {
    tailor_fake_cuda_reset();
    tailor_fake_cuda_complaints();
    static const fake_cuda::Options kInitial = *tailor_fake_cuda_options();  // what the environment says
    pretend() = kInitial;
    pretend().devices = 2;
    EXPECT_EQ(CudaDevices::OfThisProcess().absence(), "");
  }
  ~CudaTest() override {
    session_.reset();
    executable_.reset();
    const fake_cuda::Counts left = tailor_fake_cuda_counts();
    EXPECT_EQ(left.device_allocations, 0);
    EXPECT_EQ(left.host_allocations, 0);
    EXPECT_EQ(left.modules, 0);
    EXPECT_EQ(left.streams, 0);
    EXPECT_EQ(left.graphs, 0);
    EXPECT_EQ(left.events, 0);
    EXPECT_STREQ(tailor_fake_cuda_complaints(), "");
  }

  static const CudaDevice& Device(int ordinal = 0) { return *CudaDevices::OfThisProcess().list()[ordinal]; }
  fake_cuda::Options& pretend() { return *tailor_fake_cuda_options(); }

  std::string Load(const DeviceChoice& device = {DeviceChoice::kCuda, 0}) {
    Runtime::Options options;
    options.log = [](void* user, int32_t, const char* message) {
      *static_cast<std::string*>(user) += message + std::string("\n");
    };
    options.user = &log_;
    const auto runtime = std::make_shared<const Runtime>(options);
    return Text(Executable::Create(runtime, program_, ThisCpu(), "", device, &executable_));
  }
  std::string Open(const Session::Options& options = {}) {
    return Text(Session::Create(*executable_, options, &session_));
  }
  void Make(const Session::Options& options = {}) {
    ASSERT_EQ(Load(), "OK");
    ASSERT_EQ(Open(options), "OK");
  }
  std::string Run(SampleBuffers* b, OutputUse use = OutputUse::kMayProvide) {
    return Text(session_->Run(Inputs(b->inputs), Outputs(b->outputs), use));
  }

  Program program_ = SampleDeviceProgram();
  std::string log_;
  std::unique_ptr<Executable> executable_;
  std::unique_ptr<Session> session_;
};

}  // namespace tailor

#endif  // TAILOR_TESTS_EXEC_CUDA_FIXTURE_H_
