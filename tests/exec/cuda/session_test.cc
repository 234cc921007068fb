// Sessions on a device, which is the emulator's: exec/session.cc with exec/cuda/stream.cc.
#include <gmock/gmock.h>

#include "tests/exec/cuda/fixture.h"

namespace tailor {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

class CudaSessionTest : public CudaTest {
 protected:
  // The sample's y for `b`.
  static std::vector<float> Gemms(const SampleBuffers& b) {
    std::vector<float> want(b.x.size());
    for (size_t i = 0; i < want.size(); ++i) want[i] = -b.x[i] * kSampleScale[i % 4];
    return want;
  }
  static void PlaceOnDevice(Tensor* tensor, const DeviceBytes& bytes) {
    tensor->data = bytes.data();
    tensor->device = kDeviceMemory;
  }
  static constexpr float kSampleScale[4] = {1, 2, 3, 0.5f};
};

TEST_F(CudaSessionTest, HostTensorsAreCopiedThereAndBack) {
  Make();
  for (int64_t rows : {5, 0, 1, 7, 13, 300, 32}) {
    SampleBuffers b(rows);
    ASSERT_EQ(Run(&b), "OK") << rows;
    EXPECT_EQ(b.total, b.Totals());
    EXPECT_EQ(b.y, Gemms(b));
  }
}

TEST_F(CudaSessionTest, DeviceTensorsAreUsedAsTheyAre) {
  Make();
  SampleBuffers b(9);
  const DeviceBytes x(Device(), b.x), mask(Device(), b.mask), y(Device(), b.y), total(Device(), b.total);
  PlaceOnDevice(&b.inputs[0], x), PlaceOnDevice(&b.inputs[1], mask);
  PlaceOnDevice(&b.outputs[0], y), PlaceOnDevice(&b.outputs[1], total);
  const int64_t before = tailor_fake_cuda_counts().total_allocations;
  ASSERT_EQ(Run(&b), "OK");
  EXPECT_EQ(total.Read<float>(), b.Totals());
  EXPECT_EQ(y.Read<float>(), Gemms(b));
  const int64_t allocated = tailor_fake_cuda_counts().total_allocations - before;
  EXPECT_LE(allocated, 1) << "more than a workspace";
}

TEST_F(CudaSessionTest, ProvidedOutputsAreOnTheDevice) {
  Make();
  SampleBuffers b(6);
  b.outputs = {TensorOf(nullptr, 0, DType::kF32, {}), TensorOf(nullptr, 0, DType::kF32, {})};
  ASSERT_EQ(Run(&b), "OK");
  std::vector<float> total(6);
  EXPECT_EQ(b.outputs[1].device, kDeviceMemory);
  EXPECT_EQ(b.outputs[1].data_bytes, 24u);
  CopyStream(Device()).FromDevice(total.data(), b.outputs[1].data, 24);
  EXPECT_EQ(total, b.Totals());
  // The next run reads what this one provided, and writes elsewhere.
  SampleBuffers next(6);
  next.inputs[0].data = b.outputs[0].data;
  next.inputs[0].device = kDeviceMemory;
  next.outputs[0] = TensorOf(nullptr, 0, DType::kF32, {});
  ASSERT_EQ(Run(&next), "OK");
  EXPECT_NE(next.outputs[0].data, b.outputs[0].data);
  std::vector<float> y(24), once = Gemms(b);
  CopyStream(Device()).FromDevice(y.data(), b.outputs[0].data, 96);
  EXPECT_EQ(y, once);
  for (size_t i = 0; i < once.size(); ++i) next.x[i] = once[i];
  CopyStream(Device()).FromDevice(y.data(), next.outputs[0].data, 96);
  EXPECT_EQ(y, Gemms(next));
}

TEST_F(CudaSessionTest, OutputsOnTheHostAreInputsOfTheNextRun) {
  Make({.host_outputs = true});
  SampleBuffers b(6);
  const std::vector<Tensor> none = {TensorOf(nullptr, 0, DType::kF32, {}), TensorOf(nullptr, 0, DType::kF32, {})};
  for (int run = 0; run < 4; ++run) {
    const std::vector<float> x = b.x;
    b.outputs = none;
    ASSERT_EQ(Run(&b), "OK");
    const auto* read = static_cast<const float*>(b.inputs[0].data);
    EXPECT_EQ(std::vector<float>(read, read + 24), x);  // as it was
    const auto* y = static_cast<const float*>(b.outputs[0].data);
    EXPECT_EQ(std::vector<float>(y, y + 24), Gemms(b));
    b.inputs[0].data = b.outputs[0].data;
    b.x.assign(y, y + 24);
  }
}

TEST_F(CudaSessionTest, ProvidedOutputsMayBeOnTheHost) {
  Make({.host_outputs = true});
  for (int64_t rows : {6, 60, 0, 3}) {
    SampleBuffers b(rows);
    b.outputs = {TensorOf(nullptr, 0, DType::kF32, {}), b.outputs[1]};
    ASSERT_EQ(Run(&b), "OK");
    EXPECT_EQ(b.outputs[0].device, kHostMemory);
    EXPECT_EQ(b.outputs[0].data_bytes, 16u * rows);
    const auto* y = static_cast<const float*>(b.outputs[0].data);
    EXPECT_EQ(std::vector<float>(y, y + 4 * rows), Gemms(b));
    EXPECT_EQ(b.total, b.Totals());
  }
}

TEST_F(CudaSessionTest, APointerMustBeWhereItsTensorSays) {
  Make();
  SampleBuffers b(8);
  const DeviceBytes right(Device(), b.x);
  b.inputs[0].device = kDeviceMemory;
  EXPECT_EQ(Run(&b), "3: input \"x\": device is 1, but it is not device memory");
  b.inputs[0].data = right.data();
  EXPECT_EQ(Run(&b), "OK");
  b.inputs[0].device = kHostMemory;
  EXPECT_EQ(Run(&b), "3: input \"x\": device is 0, but its data is device memory");
  b.inputs[0].data = b.x.data();
  b.outputs[1].device = kDeviceMemory;
  EXPECT_EQ(Run(&b), "3: output \"total\": device is 1, but it is not device memory");
}

TEST_F(CudaSessionTest, MemoryOfAnotherDeviceIsRefused) {
  if (!HasTwoDevices()) GTEST_SKIP() << "this machine has one GPU";
  Make();
  SampleBuffers b(8);
  const DeviceBytes other(Device(1), 16 * 8);
  PlaceOnDevice(&b.inputs[0], other);
  EXPECT_EQ(Run(&b), "3: input \"x\": device is 1, but it is memory of device 1, not of device 0");
}

TEST_F(CudaSessionTest, MemoryThatIsTooShortIsRefused) {
  TAILOR_NEEDS_FAKE_DRIVER("others round allocations up");
  Make();
  SampleBuffers b(8);
  const DeviceBytes small(Device(), 64);
  PlaceOnDevice(&b.inputs[0], small);
  EXPECT_EQ(Run(&b), "3: input \"x\": device is 1, but the last of its 128 bytes is not device memory");
}

TEST_F(CudaSessionTest, AsynchronousRunsReturnBeforeTheirWorkIsDone) {
  Make({.asynchronous = true});
  SampleBuffers b(40);
  ASSERT_EQ(Run(&b), "OK");
  if (fake_cuda::IsInUse()) {  // others may be done by now
    EXPECT_GT(tailor_fake_cuda_counts().pending, 0);
    EXPECT_EQ(b.total[0], -99);
  }
  b.x[0] = 1e9f;  // the run has its copy
  EXPECT_EQ(Text(session_->Wait()), "OK");
  b.x[0] = 0;
  EXPECT_EQ(b.total, b.Totals());
}

TEST_F(CudaSessionTest, MemoryGrowsWhileEarlierRunsAreInFlight) {
  Make({.asynchronous = true});
  SampleBuffers small(10), large(1000), again(10);
  ASSERT_EQ(Run(&small), "OK");
  ASSERT_EQ(Run(&large), "OK");
  ASSERT_EQ(Run(&again), "OK");
  ASSERT_EQ(Text(session_->Wait()), "OK");
  EXPECT_EQ(small.total, small.Totals());
  EXPECT_EQ(large.total, large.Totals());
  EXPECT_EQ(again.total, again.Totals());
}

TEST_F(CudaSessionTest, ReleaseWaitsForWhatIsInFlight) {
  Make({.asynchronous = true});
  SampleBuffers b(40);
  ASSERT_EQ(Run(&b), "OK");
  session_.reset();
  EXPECT_EQ(b.total, b.Totals());
}

TEST_F(CudaSessionTest, AFaultThatAKernelFindsIsTheChecksMessage) {
  Make();
  SampleBuffers b(20), good(20);
  b.mask[11] = -1;
  EXPECT_EQ(Run(&b), "3: input \"mask\" at 11 of 20 is negative [masked]");
  EXPECT_EQ(Run(&good), "OK");
  EXPECT_EQ(good.total, good.Totals());
  ASSERT_EQ(Text(session_->Bind(Inputs(b.inputs), Outputs(b.outputs))), "OK");
  EXPECT_FALSE(session_->RunBound());
  EXPECT_EQ(Text(session_->BoundFailure()), "3: input \"mask\" at 11 of 20 is negative [masked]");
}

TEST_F(CudaSessionTest, OfAsynchronousRunsWaitingTellsTheFault) {
  Make({.asynchronous = true});
  SampleBuffers bad(20), good(20);
  bad.mask[11] = -1;
  EXPECT_EQ(Run(&bad), "OK");
  EXPECT_EQ(Run(&good), "OK");
  EXPECT_EQ(Text(session_->Wait()), "3: input \"mask\" at 11 of 20 is negative [masked]");
  EXPECT_EQ(good.total, good.Totals());
  EXPECT_EQ(Text(session_->Wait()), "OK");
}

TEST_F(CudaSessionTest, ChecksOfTheHostComeBeforeAnyLaunch) {
  Make();
  SampleBuffers b(20);
  const int64_t launches = tailor_fake_cuda_counts().total_launches;
  b.inputs[1].dims[0] = 19;
  EXPECT_EQ(Run(&b), "3: input \"mask\" dim 0 is 19, but N is 20 from input \"x\" dim 0 [masked]");
  EXPECT_EQ(tailor_fake_cuda_counts().total_launches, launches);
}

TEST_F(CudaSessionTest, WhatIsReadBackDecidesOnTheHost) {
  Make();
  SampleBuffers b(13);
  b.x[2] = 5000;
  EXPECT_EQ(Run(&b), "3: the first total is 5004");
}

TEST_F(CudaSessionTest, MoreMemoryThanTheDeviceHasFailsOneRun) {
  Make();
  SampleBuffers small(10), beyond(17), large(10000);
  ASSERT_EQ(Run(&small), "OK");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Run(&beyond), "8: no memory for a workspace of 17592186044416 bytes");
  small.total.assign(10, -1);
  EXPECT_EQ(Run(&small), "OK");
  EXPECT_EQ(small.total, small.Totals());
  EXPECT_EQ(Run(&large), "OK");
  EXPECT_EQ(large.total, large.Totals());
}

TEST_F(CudaSessionTest, OutOfDeviceMemoryFailsOneRun) {
  TAILOR_NEEDS_FAKE_DRIVER("a device with little memory");
  Make();
  SampleBuffers small(10), large(10000);
  ASSERT_EQ(Run(&small), "OK");
  pretend().memory = 20000;
  EXPECT_EQ(Run(&large), "8: input \"x\": no 160000 bytes on the device to copy it to");
  pretend().memory = 210000;
  EXPECT_EQ(Run(&large), "8: no memory for a workspace of 40000 bytes");
  EXPECT_EQ(Run(&large), "8: no memory for a workspace of 40000 bytes");
  small.total.assign(10, -1);
  EXPECT_EQ(Run(&small), "OK");
  EXPECT_EQ(small.total, small.Totals());
  pretend().memory = 256 << 20;
  EXPECT_EQ(Run(&large), "OK");
  EXPECT_EQ(large.total, large.Totals());
}

TEST_F(CudaSessionTest, AFailingLaunchNamesItsKernel) {
  TAILOR_NEEDS_FAKE_DRIVER("launches that fail");
  Make();
  SampleBuffers b(40);
  pretend().launch = cuda::kInvalidValue;
  EXPECT_EQ(Run(&b),
            "13: cuLaunchKernel for kernel sum_rows of 2 blocks of 32 threads with 0 bytes of shared memory: "
            "CUDA_ERROR_INVALID_VALUE (1)");
  pretend().launch = 0;
  EXPECT_EQ(Run(&b), "OK");
  EXPECT_EQ(b.total, b.Totals());
}

// A multiprocessor holds at most 32 blocks, and no GPU has 700 of them.
TEST_F(CudaSessionTest, BlocksThatMeetMustFitAtOnce) {
  Make();
  SampleBuffers fits(7 * 32), does_not(32 * 7 * 3200);
  EXPECT_EQ(Run(&fits), "OK");
  EXPECT_EQ(fits.total, fits.Totals());
  EXPECT_THAT(Run(&does_not),
              MatchesRegex("9: kernel sum_rows of 22400 blocks of 32 threads with 0 bytes of shared memory has all "
                           "blocks run at once, but device 0 holds [0-9]+"));
  fits.total.assign(7 * 32, -1);
  EXPECT_EQ(Run(&fits), "OK");
  EXPECT_EQ(fits.total, fits.Totals());
}

TEST_F(CudaSessionTest, RunsAgainWithoutAllocating) {
  Make();
  SampleBuffers large(300), small(10);
  ASSERT_EQ(Run(&large), "OK");
  ASSERT_EQ(Text(session_->Bind(Inputs(large.inputs), Outputs(large.outputs))), "OK");
  ASSERT_EQ(Run(&large), "OK");
  const int64_t allocations = tailor_fake_cuda_counts().total_allocations;
  const uint64_t growths = ReadCounters().workspace_growths;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Run(&large), "OK");
    EXPECT_TRUE(session_->RunBound());
    EXPECT_EQ(Run(&small), "OK");
  }
  EXPECT_EQ(tailor_fake_cuda_counts().total_allocations, allocations);
  EXPECT_EQ(ReadCounters().workspace_growths, growths);
}

TEST_F(CudaSessionTest, TrimFreesTheSessionsDeviceMemory) {
  Make();
  for (int64_t rows : {300, 10, 300}) {
    SampleBuffers b(rows);
    ASSERT_EQ(Run(&b), "OK");
    EXPECT_EQ(b.total, b.Totals());
    EXPECT_GT(session_->memory_bytes(), 0u);
    ASSERT_EQ(Text(session_->Trim()), "OK");
    EXPECT_EQ(session_->memory_bytes(), 0u);
    ASSERT_EQ(Text(session_->Wait()), "OK");  // memory is freed in the stream
    if (fake_cuda::IsInUse()) {               // others do not count bytes
      EXPECT_EQ(tailor_fake_cuda_counts().device_bytes, 256 + kGridSyncBytes);
    }
  }
}

TEST_F(CudaSessionTest, ReserveGrowsTheWorkspaceOnTheDevice) {
  Make();
  SampleBuffers b(1000);
  const uint64_t growths = ReadCounters().workspace_growths;
  ASSERT_EQ(Text(session_->Reserve(Inputs(b.inputs))), "OK");
  EXPECT_EQ(ReadCounters().workspace_growths, growths + 1);
  if (fake_cuda::IsInUse()) {                                                        // others do not count bytes
    EXPECT_EQ(tailor_fake_cuda_counts().device_bytes, 256 + kGridSyncBytes + 4000);  // with the constants
  }
  EXPECT_EQ(Run(&b), "OK");
  EXPECT_EQ(b.total, b.Totals());
}

TEST_F(CudaSessionTest, WorkGoesToTheCallersStream) {
  const CudaDriver& driver = Device().driver();
  cuda::Stream stream = nullptr, other = nullptr;
  {
    ASSERT_EQ(Load(), "OK");
    const CurrentContext current(Device());
    ASSERT_EQ(driver.StreamCreate(&stream, 0), cuda::kSuccess);
  }
  if (HasTwoDevices()) {
    ASSERT_EQ(Text(Device(1).RetainContext()), "OK");
    const CurrentContext current(Device(1));
    ASSERT_EQ(driver.StreamCreate(&other, 0), cuda::kSuccess);
    EXPECT_EQ(Open({.stream = other}), "3: options.stream is no stream of device 0's primary context");
  }
  ASSERT_EQ(Open({.stream = stream, .asynchronous = true}), "OK");
  EXPECT_EQ(session_->stream(), stream);
  SampleBuffers b(40);
  ASSERT_EQ(Run(&b), "OK");
  {
    const CurrentContext current(Device());
    EXPECT_EQ(driver.StreamSynchronize(stream), cuda::kSuccess);
  }
  EXPECT_EQ(b.total, b.Totals());
  session_.reset();
  driver.StreamDestroy(stream);
  if (other != nullptr) driver.StreamDestroy(other);
}

TEST_F(CudaSessionTest, AThreadWithoutAContextStaysWithout) {
  Make();
  const CudaDriver& driver = Device().driver();
  SampleBuffers b(5);
  cuda::Context before = nullptr, now = nullptr;
  ASSERT_EQ(driver.CtxGetCurrent(&before), cuda::kSuccess);
  ASSERT_EQ(driver.CtxSetCurrent(nullptr), cuda::kSuccess);
  EXPECT_EQ(Run(&b), "OK");
  EXPECT_EQ(b.total, b.Totals());
  EXPECT_EQ(driver.CtxGetCurrent(&now), cuda::kSuccess);
  EXPECT_EQ(now, nullptr);
  driver.CtxSetCurrent(before);
}

TEST_F(CudaSessionTest, TheThreadKeepsItsOwnContext) {
  if (!HasTwoDevices()) GTEST_SKIP() << "this machine has one GPU";
  Make();
  ASSERT_EQ(Text(Device(1).RetainContext()), "OK");
  const CurrentContext mine(Device(1));
  SampleBuffers b(5);
  EXPECT_EQ(Run(&b), "OK");
  cuda::Context now = nullptr;
  Device().driver().CtxGetCurrent(&now);
  EXPECT_EQ(now, Device(1).context());
}

TEST_F(CudaSessionTest, StridedInputsAreCopiedWhereAsked) {
  const int64_t transposed[] = {1, 4};
  Make({.copy_strided = true, .asynchronous = true});
  SampleBuffers b(4);
  b.inputs[0].strides = transposed;
  for (float first : {1.0f, 50.0f}) {
    b.x[0] = first;
    ASSERT_EQ(Run(&b), "OK");
    ASSERT_EQ(Text(session_->Wait()), "OK");
    EXPECT_EQ(b.total[0], b.x[0] + b.x[4] + b.x[8] + b.x[12]);
  }
  const DeviceBytes x(Device(), b.x);
  PlaceOnDevice(&b.inputs[0], x);
  EXPECT_EQ(Run(&b), "3: input \"x\": it is strided, but must be dense row-major in device memory");
}

TEST_F(CudaSessionTest, ADonatedInputsMemoryTakesTheOutput) {
  program_.inputs[0].donated = true;
  program_.outputs[0].memory_of = 0;
  Make();
  SampleBuffers b(6);
  const std::vector<float> want = Gemms(b), totals = b.Totals();
  b.outputs[0] = TensorOf(nullptr, 0, DType::kF32, {});
  ASSERT_EQ(Run(&b), "OK");
  EXPECT_EQ(b.outputs[0].data, b.x.data());
  EXPECT_EQ(b.outputs[0].device, kHostMemory);
  EXPECT_EQ(b.x, want);
  EXPECT_EQ(b.total, totals);
  SampleBuffers there(6);
  const DeviceBytes x(Device(), there.x);
  PlaceOnDevice(&there.inputs[0], x);
  there.outputs[0] = TensorOf(nullptr, 0, DType::kF32, {});
  ASSERT_EQ(Run(&there), "OK");
  EXPECT_EQ(there.outputs[0].data, x.data());
  EXPECT_EQ(there.outputs[0].device, kDeviceMemory);
  EXPECT_EQ(x.Read<float>(), want);
}

TEST_F(CudaSessionTest, WhatIsWrittenApartIsCopiedToTheDonatedInput) {
  program_.inputs[0].donated = true;
  program_.outputs[0].memory_of = 0;
  program_.variants[0].outputs_to_copy = {0};
  Make();
  for (int64_t rows : {6, 0, 40}) {
    SampleBuffers b(rows);
    const std::vector<float> want = Gemms(b), totals = b.Totals();
    b.outputs[0] = TensorOf(nullptr, 0, DType::kF32, {});
    ASSERT_EQ(Run(&b), "OK");
    if (rows > 0) {
      EXPECT_EQ(b.outputs[0].data, b.x.data());
    }
    EXPECT_EQ(b.x, want);
    EXPECT_EQ(b.total, totals);
  }
  SampleBuffers there(6);
  const std::vector<float> want = Gemms(there), totals = there.Totals();
  const DeviceBytes x(Device(), there.x);
  PlaceOnDevice(&there.inputs[0], x);
  PlaceOnDevice(&there.outputs[0], x);
  ASSERT_EQ(Run(&there), "OK");
  EXPECT_EQ(x.Read<float>(), want);
  EXPECT_EQ(there.total, totals);
}

TEST_F(CudaSessionTest, ExecutablesLendSessions) {
  ASSERT_EQ(Load(), "OK");
  SampleBuffers b(33);
  EXPECT_EQ(Text(executable_->Run(Inputs(b.inputs), Outputs(b.outputs))), "OK");
  EXPECT_EQ(b.total, b.Totals());
  uint64_t workspace = 0;
  EXPECT_EQ(Text(executable_->Plan(Inputs(b.inputs), Outputs(b.outputs), 1, nullptr, &workspace)), "OK");
  EXPECT_EQ(workspace, 132u);
}

TEST_F(CudaSessionTest, LaunchesAreTraced) {
  std::string seen;
  const auto trace = [](void* user, const TraceEvent* event) {
    *static_cast<std::string*>(user) += std::to_string(event->launch) + ";";
  };
  Make({.tracing = {.trace = trace, .user = &seen}});
  SampleBuffers b(5);
  ASSERT_EQ(Run(&b), "OK");
  EXPECT_EQ(seen, "0;1;2;-1;");
}

}  // namespace
}  // namespace tailor
