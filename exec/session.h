// Session: the state of one stream of runs: workspace, library-owned outputs, shape cache, threads, stream on the
// device. One run at a time.
#ifndef TAILOR_EXEC_SESSION_H_
#define TAILOR_EXEC_SESSION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "exec/arguments.h"
#include "exec/counters.h"
#include "exec/executable.h"
#include "exec/failure.h"
#include "exec/notifications.h"
#include "exec/output_pool.h"
#include "exec/rt_api.h"
#include "exec/taken_output.h"

namespace tailor {

class Session {
 public:
  struct Options {
    uint64_t threads = 0;   // 0: the runtime's
    HostExecutor executor;  // none: the runtime's
    bool copy_strided = false;
    bool sleep = false;
    Tracing::Options tracing;
    void* stream = nullptr;     // the caller's stream on the executable's device; null: a new one
    bool asynchronous = false;  // device: runs return once enqueued; Wait reports the result
    bool host_outputs = false;  // device: outputs that the session provides are in host memory
    int64_t timeout = 0;        // of each run, in nanoseconds; 0: none
    bool cuda_graph = false;    // device: the kernels of a run are launched as one graph
  };

  // `executable` outlives the session.
  static Failure Create(const Executable& executable, const Options& options, std::unique_ptr<Session>* out);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Writes results to `outputs`, whose structs change only on success.
  Failure Run(InputList inputs, OutputList outputs, OutputUse use);

  // Sets the tensors of RunBound. On failure the last binding stays.
  Failure Bind(InputList inputs, OutputList outputs);
  // The fast path: no allocation, no lock. On false, BoundFailure() has the reason.
  bool RunBound() { return bound_ != nullptr && Execute(bound_) == 0; }
  Failure BoundFailure() const;

  // Later runs draw random numbers from this seed (CustomCaller::SetSeed).
  void SetSeed(uint64_t seed) { custom_.SetSeed(seed); }

  // Cancels the run in progress, or else the next one; from any thread (exec/interrupt.h).
  void Cancel() { state_.interrupt.Cancel(); }
  void Uncancel() { state_.interrupt.Uncancel(); }
  void SetTimeout(int64_t nanoseconds) { state_.interrupt.SetTimeout(nanoseconds); }

  // Grows the workspace to the size for a run at these shapes.
  Failure Reserve(InputList inputs);

  // Waits for all earlier runs, then frees the workspace, growable blocks, memory of outputs and copies of inputs,
  // except copies that belong to bound buffers. On failure, that of Wait, nothing is freed.
  Failure Trim();
  // What Trim would free, in bytes, if no buffers were bound.
  uint64_t memory_bytes() const;

  // Returns when all earlier runs are done, with the first fault that their kernels reported. No-op on the host.
  Failure Wait();
  // Non-blocking Wait: `*done` is false while runs are in progress.
  Failure Poll(bool* done);
  // Has ended(user) called once, when all earlier runs are done: by a thread of the device, or by this thread if
  // nothing is in progress. On failure it is not called.
  Failure Notify(Notifications::Ended ended, void* user);
  // WaitForEvent: later runs begin after the device's `event`. Record: the event occurs when the earlier runs are done.
  Failure WaitForEvent(void* event);
  Failure Record(void* event);
  // Transfers output i of the last Run, with its memory, to the caller. If `stream`, a stream of the device, is not
  // null, its later work waits for that run. Errors: OUT_OF_RANGE; FAILED_PRECONDITION if the session did not provide
  // that output's buffer, or it was taken already.
  Failure TakeOutput(size_t i, void* stream, std::unique_ptr<TakenOutput>* out);
  // The native handle of the session's stream; null on the host.
  void* stream() const { return stream_ != nullptr ? stream_->native() : nullptr; }

 private:
  Session(const Executable& executable, const Options& options, Parallelism parallelism,
          std::unique_ptr<DeviceStream> stream);
  int32_t Execute(Arguments* arguments);
  int32_t ExecuteOnHost(Arguments* arguments);
  int32_t ExecuteOnDevice(Arguments* arguments);
  int32_t CallProgram(Arguments* arguments);
  bool AwaitDevice(bool note_fault);
  bool ProvideHostOutputs();
  GrowingBuffer OutputBuffer(bool on_device) const;
  void KeepWhatIsRead();
  Failure SetArguments(InputList inputs, OutputList outputs, OutputUse use);
  void DescribeOutput(size_t i, OutputList outputs) const;
  Failure RunFailure() const;
  Failure CheckOfDevice(const char* name, const void* argument) const;

  const Executable& executable_;
  const RunFn run_;
  const RtApi& api_;
  const Parallelism parallelism_;
  const InputUse input_use_;
  const bool asynchronous_;
  const std::shared_ptr<DeviceStream> stream_;  // null on the host; outlives the memory below
  const Allocator& memory_;                     // device memory, or the host's
  SessionCounters counters_;
  GrowingBuffer workspace_;
  const std::shared_ptr<OutputPool> pool_;  // of outputs in host memory; null if the host has an allocator of its own
  std::vector<GrowingBuffer> output_buffers_, blocks_;
  std::vector<GrowingBuffer> alternates_;  // where outputs go that the run before wrote and this run reads
  // Host copies of provided outputs, and their alternates; empty if outputs stay on the device.
  std::vector<GrowingBuffer> host_outputs_, host_alternates_;
  std::vector<bool> provided_;             // outputs of the last Run that are in session memory and not taken
  std::vector<int64_t> host_shape_cache_;  // used on the host
  CustomCaller custom_;
  Notifications notifications_;
  Arguments first_, second_;
  Arguments* bound_ = nullptr;  // first_ or second_
  Arguments* free_ = &first_;   // the other one
  RunState state_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_SESSION_H_
