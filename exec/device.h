// The interfaces of a device other than the host's CPU: Device, DeviceProgram (a program loaded on it) and DeviceStream
// (the queue of one session's work). Each kind of device implements the three. A null pointer means the host itself,
// where memory comes from the allocator and work runs on the calling thread.
#ifndef TAILOR_EXEC_DEVICE_H_
#define TAILOR_EXEC_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "codegen/contract/program.h"
#include "exec/failure.h"
#include "exec/host_abi.h"
#include "exec/memory.h"
#include "exec/runtime.h"

namespace tailor {

// A queue of device work, executed in order; calls that enqueue work return before it is done. Used by one thread at a
// time. The destructor waits for all work. Calls return false on failure, with the reason in FirstFailure. After a
// failed kernel all later calls may fail.
class DeviceStream {
 public:
  virtual ~DeviceStream() = default;

  // Stream-ordered device memory: freed memory stays valid for work enqueued before.
  virtual const Allocator& memory() const = 0;
  // Variant::shape_cache_slots 8-byte words of host memory that kernels can write, initially zero.
  virtual int64_t* shape_cache() const = 0;
  // RtContext::grid_sync.
  virtual void* grid_sync() const = 0;
  // The device's native handle of the stream: a CUstream.
  virtual void* native() const = 0;

  // Makes the device current on the calling thread, as all later calls require, and clears failures. `Leave(Enter())`
  // undoes it.
  virtual void* Enter() = 0;
  virtual void Leave(void* entered) = 0;

  // The reason why [data, data + bytes) is not memory of this device ("it is not device memory"), or "".
  virtual std::string ProblemWithMemory(const void* data, uint64_t bytes) const = 0;
  // Whether `data` is memory of any device, which the host cannot read.
  virtual bool IsDeviceMemory(const void* data) const = 0;

  // Pageable host memory may be changed once Upload returns, and is filled once Download returns.
  virtual bool Upload(void* to, const void* from, uint64_t bytes) = 0;
  virtual bool Download(void* to, const void* from, uint64_t bytes) = 0;
  virtual bool Copy(void* to, const void* from, uint64_t bytes) = 0;
  // Launches DeviceKernel number `kernel`; `args` is read before this returns.
  virtual bool Launch(int32_t kernel, const int64_t* args, const LaunchGrid& grid) = 0;
  // RtApi::offer and RtApi::gemm: whether a library computes such a matmul on this device, and enqueuing one that it
  // does.
  virtual bool AcceptsGemm(const GemmArgs& gemm) = 0;
  virtual bool Multiply(const GemmArgs& gemm) = 0;
  // Bracket the launches of a run. A stream that gathers launches enqueues them in LaunchGathered, before work that is
  // not its own, and in EndRun. After a failed run EndRun is not called, and gathered launches are dropped.
  virtual void BeginRun() = 0;
  virtual bool LaunchGathered() = 0;
  virtual bool EndRun() = 0;
  // Returns when all enqueued work is done.
  virtual bool Wait() = 0;
  // Whether all enqueued work is done, without waiting.
  enum class Progress { kBusy, kDone, kFailed };
  virtual Progress Poll() = 0;
  // Has a thread of the device call function(user) when all enqueued work is done; never called if the device fails.
  virtual bool CallWhenDone(void (*function)(void* user), void* user) = 0;
  // WaitForEvent: later work begins after the device's event (a CUevent). Record: the event occurs when the enqueued
  // work is done. MakeStreamWait: another stream's later work begins when this stream's enqueued work is done.
  virtual bool WaitForEvent(void* event) = 0;
  virtual bool Record(void* event) = 0;
  virtual bool MakeStreamWait(void* stream) = 0;
  // Returns when all work of the device is done, in all streams. Thread-safe.
  virtual void WaitForDevice() const = 0;

  // The first failure since Enter.
  virtual Failure FirstFailure() const = 0;
};

// Makes the stream's device current on the calling thread within a scope. No-op on the host (null).
class OnDevice {
 public:
  explicit OnDevice(DeviceStream* stream) : stream_(stream), entered_(stream != nullptr ? stream->Enter() : nullptr) {}
  OnDevice(const OnDevice&) = delete;
  ~OnDevice() {
    if (stream_ != nullptr) stream_->Leave(entered_);
  }

 private:
  DeviceStream* const stream_;
  void* const entered_;
};

struct StreamOptions {
  void* native = nullptr;  // the caller's stream on the device; null: a new one
  bool graph = false;      // launch the kernels of a run as one graph
};

// A variant's loaded kernels and the program's constants, in device memory. Immutable and thread-safe.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  virtual int32_t ordinal() const = 0;  // device ordinal
  // Device addresses, by constant index.
  virtual const void* const* constants() const = 0;
  // RtContext::workers of its sessions.
  virtual int64_t workers() const = 0;
  // The program outlives the stream. Errors: INVALID_ARGUMENT for a native stream of another device;
  // FAILED_PRECONDITION if a graph is requested but the program or the driver does not support it.
  virtual Failure MakeStream(const StreamOptions& options, std::unique_ptr<DeviceStream>* out) const = 0;
};

// Immutable and thread-safe; lives as long as the process.
class Device {
 public:
  virtual ~Device() = default;
  // Loads `variant`. `program` and `variant` outlive the result. Errors: FAILED_PRECONDITION with the reasons if none
  // of the variant's images runs on this device; RESOURCE_EXHAUSTED if memory is out; INTERNAL if the device fails.
  virtual Failure Load(const Runtime& runtime, const Program& program, const Variant& variant,
                       std::unique_ptr<DeviceProgram>* out) const = 0;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_DEVICE_H_
