// What tests of CUDA devices share: the driver, and the sample program on its first device. The driver is the fake one,
// but where TAILOR_TEST_DEVICE names a GPU (tests/support/device.h): NVIDIA's, whose devices are what they are. Tests
// that plan failures, count, or know the device's numbers begin with TAILOR_NEEDS_FAKE_DRIVER.
#ifndef TAILOR_TESTS_EXEC_CUDA_FIXTURE_H_
#define TAILOR_TESTS_EXEC_CUDA_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "exec/cuda/device.h"
#include "exec/cuda/find_device.h"
#include "exec/executable.h"
#include "exec/session.h"
#include "tests/emulator/fake_driver_in_use.h"
#include "tests/exec/sample_tensors.h"
#include "tests/support/sample_device_program.h"
#include "tests/support/sample_ptx.h"

namespace tailor {

// A stream for a test's own copies; each is done when it returns.
class CopyStream {
 public:
  explicit CopyStream(const CudaDevice& device) : current_(device), driver_(device.driver()) {
    EXPECT_EQ(driver_.StreamCreate(&stream_, cuda::kStreamNonBlocking), cuda::kSuccess);
  }
  CopyStream(const CopyStream&) = delete;
  ~CopyStream() { driver_.StreamDestroy(stream_); }
  void ToDevice(void* to, const void* from, size_t bytes) {
    EXPECT_EQ(driver_.MemcpyHtoDAsync(reinterpret_cast<cuda::Address>(to), from, bytes, stream_), cuda::kSuccess);
    EXPECT_EQ(driver_.StreamSynchronize(stream_), cuda::kSuccess);
  }
  void FromDevice(void* to, const void* from, size_t bytes) {
    EXPECT_EQ(driver_.MemcpyDtoHAsync(to, reinterpret_cast<cuda::Address>(from), bytes, stream_), cuda::kSuccess);
    EXPECT_EQ(driver_.StreamSynchronize(stream_), cuda::kSuccess);
  }

 private:
  const CurrentContext current_;
  const CudaDriver& driver_;
  cuda::Stream stream_ = nullptr;
};

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
    CopyStream(device).ToDevice(data(), values.data(), bytes_);
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
    CopyStream(device_).FromDevice(values.data(), data(), bytes_);
    return values;
  }

 private:
  const CudaDevice& device_;
  const size_t bytes_;
  cuda::Address address_ = 0;
};

// Each test begins with a whole device and ends without complaint, and with nothing left on it.
class CudaTest : public testing::Test {
 protected:
  // The driver of this process, unless the environment has named one.
  static void SetUpTestSuite() {
    const char* named = std::getenv("TAILOR_TEST_DEVICE");
    const std::string device = named != nullptr ? named : "cpu";
    if (device == "cpu" || device == "emulated") {
      setenv("TAILOR_CUDA_DRIVER", TAILOR_FAKE_CUDA_LIBRARY, /*overwrite=*/0);
    }
  }
  CudaTest() {
    tailor_fake_cuda_reset();
    tailor_fake_cuda_complaints();
    static const fake_cuda::Options kInitial = *tailor_fake_cuda_options();  // what the environment says
    pretend() = kInitial;
    pretend().devices = 2;
    EXPECT_EQ(CudaDevices::OfThisProcess().absence(), "");
    if (!fake_cuda::IsInUse()) {
      program_.variants[0].device_images = {{"sm_80", DeviceImageKind::kPtx, std::as_bytes(std::span(ptx_))}};
    }
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
    EXPECT_EQ(left.descriptors, 0);
    EXPECT_STREQ(tailor_fake_cuda_complaints(), "");
  }

  static const CudaDevice& Device(int ordinal = 0) { return *CudaDevices::OfThisProcess().list()[ordinal]; }
  static bool HasTwoDevices() { return CudaDevices::OfThisProcess().list().size() > 1; }
  fake_cuda::Options& pretend() { return *tailor_fake_cuda_options(); }

  std::string Load(const DeviceChoice& device = {DeviceChoice::kCuda, 0}) {
    Runtime::Options options;
    options.log = [](void* user, int32_t, const char* message) {
      *static_cast<std::string*>(user) += message + std::string("\n");
    };
    options.user = &log_;
    const auto runtime = std::make_shared<const Runtime>(options);
    const tailor::Device* found = nullptr;
    if (Failure f = FindDevice(device, &found); !f.ok()) return Text(f);
    return Text(Executable::Create(runtime, program_, ThisCpu(), "", found, &executable_));
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

  // The sample's kernels as PTX that the driver takes.
  const std::string ptx_ = fake_cuda::IsInUse() ? fake_cuda::AsPtx(SampleKernels()) : SamplePtx() + '\0';
  Program program_ = SampleDeviceProgram();
  std::string log_;
  std::unique_ptr<Executable> executable_;
  std::unique_ptr<Session> session_;
};

}  // namespace tailor

#endif  // TAILOR_TESTS_EXEC_CUDA_FIXTURE_H_
