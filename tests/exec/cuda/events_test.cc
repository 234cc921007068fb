// Waiting for asynchronous runs, and ordering them with other work by events.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "tests/exec/cuda/fixture.h"

namespace tailor {
namespace {

class CudaEventsTest : public CudaTest {
 protected:
  void SetUp() override { Make({.asynchronous = true}); }

  // Whether all runs are done, as Poll says; "" where that is all.
  std::string Poll(bool* done) { return Text(session_->Poll(done)); }
  // Polls until all runs are done. The fake device goes on when it is told to, others as they do.
  std::string PollUntilDone() {
    tailor_fake_cuda_reset();
    std::string answer = "OK";
    for (bool done = false; !done && answer == "OK";) answer = Poll(&done);
    return answer;
  }
  std::string Notify(std::atomic<int>* calls) {
    return Text(session_->Notify([](void* user) { ++*static_cast<std::atomic<int>*>(user); }, calls));
  }

  // An event of device 0's, which the host has made.
  class HostEvent {
   public:
    HostEvent() : current_(Device()) { EXPECT_EQ(Device().driver().EventCreate(&event_, 0), cuda::kSuccess); }
    ~HostEvent() { Device().driver().EventDestroy(event_); }
    operator cuda::Event() const { return event_; }

   private:
    const CurrentContext current_;
    cuda::Event event_ = nullptr;
  };
  class HostStream {
   public:
    HostStream() : current_(Device()) { EXPECT_EQ(Device().driver().StreamCreate(&stream_, 0), cuda::kSuccess); }
    ~HostStream() { Device().driver().StreamDestroy(stream_); }
    operator cuda::Stream() const { return stream_; }
    void Synchronize() const { EXPECT_EQ(Device().driver().StreamSynchronize(stream_), cuda::kSuccess); }

   private:
    const CurrentContext current_;
    cuda::Stream stream_ = nullptr;
  };
};

TEST_F(CudaEventsTest, PollingDoesNotWait) {
  bool done = false;
  EXPECT_EQ(Poll(&done), "OK");
  EXPECT_TRUE(done);
  SampleBuffers b(40);
  ASSERT_EQ(Run(&b), "OK");
  EXPECT_EQ(Poll(&done), "OK");
  if (fake_cuda::IsInUse()) {  // others may be done by now
    EXPECT_FALSE(done);
    EXPECT_EQ(b.total[0], -99);
  }
  EXPECT_EQ(PollUntilDone(), "OK");
  EXPECT_EQ(b.total, b.Totals());
}

TEST_F(CudaEventsTest, PollingTellsFaultsOnce) {
  SampleBuffers bad(20);
  bad.mask[11] = -1;
  ASSERT_EQ(Run(&bad), "OK");
  EXPECT_EQ(PollUntilDone(), "3: input \"mask\" at 11 of 20 is negative [masked]");
  EXPECT_EQ(PollUntilDone(), "OK");
}

TEST_F(CudaEventsTest, TheDeviceCallsBack) {
  std::atomic<int> calls{0};
  SampleBuffers b(40);
  ASSERT_EQ(Run(&b), "OK");
  ASSERT_EQ(Notify(&calls), "OK");
  if (fake_cuda::IsInUse()) {  // others may have called by now
    EXPECT_EQ(calls, 0);
  }
  tailor_fake_cuda_reset();  // the device goes on, and nobody waits
  while (calls == 0 && !fake_cuda::IsInUse()) std::this_thread::yield();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(Text(session_->Wait()), "OK");
  EXPECT_EQ(calls, 1);
  ASSERT_EQ(Notify(&calls), "OK");
  ASSERT_EQ(Notify(&calls), "OK");
  session_.reset();
  EXPECT_EQ(calls, 3);
}

TEST_F(CudaEventsTest, CallsComeFromAnotherThread) {
  std::thread::id caller;
  ASSERT_EQ(Text(session_->Notify([](void* user) { *static_cast<std::thread::id*>(user) = std::this_thread::get_id(); },
                                  &caller)),
            "OK");
  ASSERT_EQ(Text(session_->Wait()), "OK");
  EXPECT_NE(caller, std::this_thread::get_id());
  EXPECT_NE(caller, std::thread::id());
}

TEST_F(CudaEventsTest, OfADeviceThatFailsWaitingCalls) {
  TAILOR_NEEDS_FAKE_DRIVER("a device that fails");
  std::atomic<int> calls{0};
  SampleBuffers b(40);
  ASSERT_EQ(Run(&b), "OK");
  ASSERT_EQ(Notify(&calls), "OK");
  tailor_fake_cuda_break();
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(Text(session_->Wait()), "13: cuStreamSynchronize for a run on device 0: CUDA_ERROR_LAUNCH_FAILED (719)");
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(Notify(&calls), "13: cuLaunchHostFunc for a run on device 0: CUDA_ERROR_LAUNCH_FAILED (719)");
  bool done = false;
  EXPECT_EQ(Poll(&done), "13: cuStreamSynchronize for a run on device 0: CUDA_ERROR_LAUNCH_FAILED (719)");
  EXPECT_TRUE(done);
  tailor_fake_cuda_reset();
  EXPECT_EQ(calls, 1);
}

TEST_F(CudaEventsTest, SynchronousRunsHaveEnded) {
  Make();
  std::atomic<int> calls{0};
  SampleBuffers b(40);
  ASSERT_EQ(Run(&b), "OK");
  ASSERT_EQ(Notify(&calls), "OK");
  EXPECT_EQ(calls, 1);
}

TEST_F(CudaEventsTest, RunsFollowTheHostsEvents) {
  const HostStream stream;
  const HostEvent event;
  const CurrentContext current(Device());
  SampleBuffers b(8);
  const std::vector<float> x = b.x;
  const DeviceBytes on_device(Device(), std::vector<float>(x.size(), 7));
  b.inputs[0].data = on_device.data();
  b.inputs[0].device = kDeviceMemory;
  const CudaDriver& driver = Device().driver();
  ASSERT_EQ(driver.MemcpyHtoDAsync(reinterpret_cast<cuda::Address>(on_device.data()), x.data(), x.size() * 4, stream),
            cuda::kSuccess);
  ASSERT_EQ(driver.EventRecord(event, stream), cuda::kSuccess);
  ASSERT_EQ(Text(session_->WaitForEvent(event)), "OK");
  ASSERT_EQ(Run(&b), "OK");
  ASSERT_EQ(Text(session_->Wait()), "OK");
  EXPECT_EQ(b.total, b.Totals());
}

TEST_F(CudaEventsTest, OtherWorkFollowsRuns) {
  const HostStream stream;
  const HostEvent event;
  const CurrentContext current(Device());
  SampleBuffers b(8);
  const DeviceBytes total(Device(), b.total);
  b.outputs[1].data = total.data();
  b.outputs[1].device = kDeviceMemory;
  ASSERT_EQ(Run(&b), "OK");
  ASSERT_EQ(Text(session_->Record(event)), "OK");
  const CudaDriver& driver = Device().driver();
  std::vector<float> read(8);
  ASSERT_EQ(driver.StreamWaitEvent(stream, event, 0), cuda::kSuccess);
  ASSERT_EQ(driver.MemcpyDtoHAsync(read.data(), reinterpret_cast<cuda::Address>(total.data()), 32, stream),
            cuda::kSuccess);
  stream.Synchronize();
  EXPECT_EQ(read, b.Totals());
}

TEST_F(CudaEventsTest, EventsThatAreNoneAreNamed) {
  TAILOR_NEEDS_FAKE_DRIVER("others crash on events that are none");
  EXPECT_EQ(Text(session_->Record(this)), "13: cuEventRecord for a run on device 0: an unknown error (400)");
  EXPECT_EQ(Text(session_->WaitForEvent(this)),
            "13: cuStreamWaitEvent for a run on device 0: CUDA_ERROR_INVALID_VALUE (1)");
}

TEST_F(CudaEventsTest, MistakesAreNamed) {
  EXPECT_EQ(Text(session_->WaitForEvent(nullptr)), "3: event is null");
  EXPECT_EQ(Text(session_->Record(nullptr)), "3: event is null");
  ASSERT_EQ(Load({DeviceChoice::kCpu, 0}), "OK");
  ASSERT_EQ(Open(), "OK");
  EXPECT_EQ(Text(session_->WaitForEvent(this)), "3: event is given, but the executable runs on the CPU");
  bool done = false;
  EXPECT_EQ(Poll(&done), "OK");
  EXPECT_TRUE(done);
  std::atomic<int> calls{0};
  EXPECT_EQ(Notify(&calls), "OK");
  EXPECT_EQ(calls, 1);
}

// ---- Outputs that leave their session ----------------------------------------------------------------

class TakenOutputTest : public CudaEventsTest {
 protected:
  void RunProvided(SampleBuffers* b) {
    b->outputs = {TensorOf(nullptr, 0, DType::kF32, {}), TensorOf(nullptr, 0, DType::kF32, {})};
    ASSERT_EQ(Run(b), "OK");
  }
  std::string Take(size_t index, cuda::Stream stream = nullptr) {
    taken_.reset();
    return Text(session_->TakeOutput(index, stream, &taken_));
  }
  static std::vector<float> Read(const void* data, size_t count) {
    std::vector<float> values(count);
    CopyStream(Device()).FromDevice(values.data(), data, 4 * count);
    return values;
  }

  std::unique_ptr<TakenOutput> taken_;
};

TEST_F(TakenOutputTest, OutlivesItsSession) {
  SampleBuffers first(6), second(6);
  RunProvided(&first);
  ASSERT_EQ(Take(1), "OK");
  EXPECT_EQ(taken_->dims, (std::vector<int64_t>{6}));
  EXPECT_EQ(taken_->device, kDeviceMemory);
  second.x[0] = 100;
  RunProvided(&second);
  EXPECT_NE(second.outputs[1].data, taken_->data);
  session_.reset();
  EXPECT_EQ(Read(taken_->data, 6), first.Totals());
  std::thread([&] { taken_.reset(); }).join();
}

TEST_F(TakenOutputTest, OtherStreamsWaitForTheRun) {
  const HostStream stream;
  SampleBuffers b(6);
  RunProvided(&b);
  ASSERT_EQ(Take(1, stream), "OK");
  std::vector<float> read(6);
  const CurrentContext current(Device());
  ASSERT_EQ(Device().driver().MemcpyDtoHAsync(read.data(), reinterpret_cast<cuda::Address>(taken_->data), 24, stream),
            cuda::kSuccess);
  taken_.reset();  // while that stream's work is pending
  EXPECT_EQ(read, b.Totals());
}

TEST_F(TakenOutputTest, CopiesOnTheHostAreTakenToo) {
  Make({.asynchronous = true, .host_outputs = true});
  SampleBuffers empty(0), b(6);
  RunProvided(&empty);
  ASSERT_EQ(Take(1), "OK");
  EXPECT_EQ(taken_->dims, (std::vector<int64_t>{0}));
  RunProvided(&b);
  ASSERT_EQ(Take(1), "OK");
  EXPECT_EQ(taken_->device, kHostMemory);
  ASSERT_EQ(Text(session_->Wait()), "OK");
  const auto* total = static_cast<const float*>(taken_->data);
  EXPECT_EQ(std::vector<float>(total, total + 6), b.Totals());
  RunProvided(&b);
  ASSERT_EQ(Take(0), "OK");
  taken_.reset();  // while the copy is under way
}

TEST_F(TakenOutputTest, OnlyWhatTheLastRunProvidedIsTaken) {
  const std::string none = "9: output \"y\" is none that the session's last run provided";
  EXPECT_EQ(Take(2), "11: index is 2, but there are 2 outputs");
  EXPECT_EQ(Take(0), none);
  SampleBuffers given(6), provided(6);
  ASSERT_EQ(Run(&given), "OK");
  EXPECT_EQ(Take(0), none);
  RunProvided(&provided);
  EXPECT_EQ(Take(0), "OK");
  EXPECT_EQ(Take(0), none);
  RunProvided(&provided);
  given.inputs[1].dims[0] = 5;
  EXPECT_NE(Run(&given), "OK");
  EXPECT_EQ(Take(0), none);
  RunProvided(&provided);
  ASSERT_EQ(Text(session_->Reserve(Inputs(provided.inputs))), "OK");
  EXPECT_EQ(Take(0), none);
}

}  // namespace
}  // namespace tailor
