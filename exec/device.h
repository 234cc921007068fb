// What executables and sessions see of a device that is not the host's CPU: the device, a program made ready on it, and
// a stream in which one session's work runs. Each kind of device implements the three; null stands for the host itself,
// where memory is the allocator's and work is done by the calling thread.
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

// Work on a device, done in the order in which it was asked for; calls that ask for it return before it is done. Used
// by one thread at a time. Its end waits for all work.
// Calls answer false where they fail: then FirstFailure says why. After a kernel that broke, all later ones may.
class DeviceStream {
 public:
  virtual ~DeviceStream() = default;

  // Memory of the device, in the stream's order: what is freed stays with the work that was asked for before.
  virtual const Allocator& memory() const = 0;
  // Variant::shape_cache_slots words of host memory that kernels can write, zero at first.
  virtual int64_t* shape_cache() const = 0;
  // RtContext::grid_sync.
  virtual void* grid_sync() const = 0;
  // The device's own name for the stream: a CUstream.
  virtual void* native() const = 0;

  // Makes the device the calling thread's, which what follows needs, and forgets failures. `Leave(Enter())` undoes it.
  virtual void* Enter() = 0;
  virtual void Leave(void* entered) = 0;

  // Why [data, data + bytes) is not memory of this device ("it is not device memory"), or "".
  virtual std::string ProblemWithMemory(const void* data, uint64_t bytes) const = 0;
  // Whether `data` is memory of any device, which the host cannot read.
  virtual bool IsDeviceMemory(const void* data) const = 0;

  // Host memory that the system may page out can be changed once Upload returns, and is filled once Download does.
  virtual bool Upload(void* to, const void* from, uint64_t bytes) = 0;
  virtual bool Download(void* to, const void* from, uint64_t bytes) = 0;
  virtual bool Copy(void* to, const void* from, uint64_t bytes) = 0;
  // Of DeviceKernel number `kernel`; `args` is read before this returns.
  virtual bool Launch(int32_t kernel, const int64_t* args, const LaunchGrid& grid) = 0;
  // RtApi::offer and RtApi::matmul: whether a library computes such matmuls on this device, and asking for one that
  // it does.
  virtual bool TakesGemm(const GemmArgs& gemm) = 0;
  virtual bool Multiply(const GemmArgs& gemm) = 0;
  // Around the launches of a run: where the stream gathers launches, EndRun asks for them. After a run that failed
  // there is no EndRun, and what was gathered is forgotten.
  virtual void BeginRun() = 0;
  virtual bool EndRun() = 0;
  // Until all work asked for is done.
  virtual bool Wait() = 0;
  // Whether it is.
  enum class Progress { kBusy, kDone, kFailed };
  virtual Progress Poll() = 0;
  // Has a thread of the device's call function(user) when all work asked for is done; never, where the device fails.
  virtual bool CallWhenDone(void (*function)(void* user), void* user) = 0;
  // Work asked for from here on begins when the device's event (a CUevent) has come; the event comes when the work
  // asked for is done; the work of another stream of the device begins then.
  virtual bool Follow(void* event) = 0;
  virtual bool Record(void* event) = 0;
  virtual bool Precede(void* stream) = 0;
  // Until all work of the device is done, whoever asked for it. From any thread, at any time.
  virtual void WaitForDevice() const = 0;

  // The first since Enter.
  virtual Failure FirstFailure() const = 0;
};

// For the time of a scope, the stream's device is the calling thread's. Does nothing on the host (null).
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
  void* native = nullptr;  // the caller's stream, of the device's; null: one of its own
  bool graph = false;      // the launches of a run are gathered, and asked for as one graph
};

// A variant's kernels, loaded, and the program's constants, in the device's memory. Immutable, used by many threads.
class DeviceProgram {
 public:
  virtual ~DeviceProgram() = default;
  virtual int32_t ordinal() const = 0;  // the device's
  // By constant index: addresses on the device.
  virtual const void* const* constants() const = 0;
  // RtContext::workers of its sessions.
  virtual int64_t workers() const = 0;
  // The program outlives the stream. INVALID_ARGUMENT where the caller's is of another device; FAILED_PRECONDITION
  // where the program, or the driver, cannot have a graph.
  virtual Failure MakeStream(const StreamOptions& options, std::unique_ptr<DeviceStream>* out) const = 0;
};

// Immutable, used by many threads; lives as long as the process.
class Device {
 public:
  virtual ~Device() = default;
  // Makes `variant` ready. `program` and `variant` outlive the result. Errors: FAILED_PRECONDITION, with the reasons,
  // where none of the variant's images runs here; RESOURCE_EXHAUSTED where memory is out; INTERNAL where the device
  // fails.
  virtual Failure Load(const Runtime& runtime, const Program& program, const Variant& variant,
                       std::unique_ptr<DeviceProgram>* out) const = 0;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_DEVICE_H_
