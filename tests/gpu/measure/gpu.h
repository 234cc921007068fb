// The first GPU of the machine, one of its streams, and the time of work in it. The measuring thread retains its
// primary context. Threads: one.
#ifndef TAILOR_TESTS_GPU_MEASURE_GPU_H_
#define TAILOR_TESTS_GPU_MEASURE_GPU_H_

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "exec/cuda/device.h"

namespace tailor::bench {

// Why something cannot be measured. Ends one measurement, not the process.
struct NotMeasured : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Gpu {
 public:
  // Null where there is none that kernels are made for; Absence() says why.
  static Gpu* First();
  static std::string Absence();

  const CudaDevice& device() const { return device_; }
  const CudaDriver& driver() const { return device_.driver(); }
  cuda::Stream stream() const { return stream_; }
  // Whether tests play it: what it takes is the emulator's time.
  bool emulated() const { return device_.info().architecture.emulated; }
  // The best of Tailor's targets that it runs.
  const std::string& target() const { return target_; }

  // Throws NotMeasured naming `call` where `result` is a failure.
  void Check(cuda::Result result, const char* call) const;
  void Wait() const;
  // Seconds of one of `times` calls of `work`, which ask for work in stream(): by events on the GPU where its driver
  // has them, else by the host's clock from the first call until all work is done.
  double SecondsOf(int times, const std::function<void()>& work) const;
  // `times` calls of `work`, which ask for work in stream(), as one CUDA graph that `run` launches, so that the host's
  // part of a call counts little; once `work` itself where the driver captures no streams.
  struct Repeated {
    std::function<void()> run;
    int times;
  };
  Repeated Repeat(int times, const std::function<void()>& work) const;

 private:
  struct Events;
  explicit Gpu(const CudaDevice& device);

  const CudaDevice& device_;
  cuda::Stream stream_ = nullptr;
  std::string target_;
  const Events* events_ = nullptr;  // null: the driver has none
};

// Device memory, filled. Throws NotMeasured where there is not enough.
class GpuMemory {
 public:
  GpuMemory(const Gpu& gpu, size_t bytes);
  GpuMemory(const Gpu& gpu, const void* from, size_t bytes);
  GpuMemory(GpuMemory&& other) noexcept;
  GpuMemory& operator=(GpuMemory&&) = delete;
  ~GpuMemory();
  cuda::Address address() const { return address_; }
  void* data() const { return reinterpret_cast<void*>(address_); }
  size_t bytes() const { return bytes_; }
  void Read(void* to) const;

 private:
  const Gpu& gpu_;
  const size_t bytes_;
  cuda::Address address_ = 0;
};

// The median seconds of each candidate. Each is called once before; then they take turns, each turn as many calls as
// fill some milliseconds.
std::vector<double> TakeTurns(const Gpu& gpu, const std::vector<std::function<void()>>& candidates);

}  // namespace tailor::bench

#endif  // TAILOR_TESTS_GPU_MEASURE_GPU_H_
