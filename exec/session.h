// Session: what one stream of runs needs: workspace, library-owned outputs, shape cache, threads, its place on a device. One
// run at a time.
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
#include "exec/rt_api.h"
#include "exec/taken_output.h"

namespace tailor {

class Session {
 public:
  struct Options {
    uint64_t threads = 1;
    Parallelism::HostFor host_for = nullptr;
    void* host_user = nullptr;
    bool copy_strided = false;
    bool sleep = false;
    Tracing::Trace trace = nullptr;
    void* trace_user = nullptr;
    void* stream = nullptr;     // the caller's, of the executable's device; null: one of the session's own
    bool asynchronous = false;  // runs on a device return once their work is asked for; Wait tells how it went
    bool host_outputs = false;  // what a session on a device provides is in host memory
    bool cuda_graph = false;    // the launches of a run on a device are asked for as one graph
  };

  // `executable` outlives the session.
  static Failure Create(const Executable& executable, const Options& options, std::unique_ptr<Session>* out);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Writes results to `outputs`, whose structs change only on success.
  Failure Run(InputList inputs, OutputList outputs, OutputUse use);

  // Fixes what RunBound uses. On failure the last binding stays.
  Failure Bind(InputList inputs, OutputList outputs);
  // The fast path: no allocation, no lock. On false, BoundFailure() says why.
  bool RunBound() { return bound_ != nullptr && Execute(bound_) == 0; }
  Failure BoundFailure() const;

  // Grows the workspace to what a run at these shapes needs.
  Failure Reserve(InputList inputs);

  // Returns when all runs before are done, with the first fault that their kernels found. On the host nothing is to be
  // waited for.
  Failure Wait();
  // The same at once: `*done` is false where runs are under way.
  Failure Poll(bool* done);
  // Has ended(user) called, once, when all runs before are done: by a thread of the device's or, where there is nothing
  // to wait for, by this one. On failure it is not.
  Failure Notify(Notifications::Ended ended, void* user);
  // Runs from here on begin when the device's `event` has come; it comes when the runs before are done.
  Failure Follow(void* event);
  Failure Record(void* event);
  // Takes output i of the last Run, which this session provided, with its memory. The device's `stream`, where it is
  // not null, waits for that run. OUT_OF_RANGE; FAILED_PRECONDITION where there is no such output.
  Failure TakeOutput(size_t i, void* stream, std::unique_ptr<TakenOutput>* out);
  // The device's name for the session's stream; null on the host.
  void* stream() const { return stream_ != nullptr ? stream_->native() : nullptr; }

 private:
  Session(const Executable& executable, const Options& options, Parallelism parallelism,
          std::unique_ptr<DeviceStream> stream);
  int32_t Execute(Arguments* arguments);
  int32_t ExecuteOnDevice(Arguments* arguments);
  bool AwaitDevice(bool note_fault);
  bool ProvideHostOutputs();
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
  const Allocator& memory_;                     // of the device
  RunCounter runs_;
  GrowingBuffer workspace_;
  std::vector<GrowingBuffer> output_buffers_, blocks_;
  std::vector<GrowingBuffer> host_outputs_;  // copies of the outputs that are provided; none where these stay there
  std::vector<bool> provided_;               // outputs of the last Run in the session's memory, and not taken
  std::vector<int64_t> host_shape_cache_;    // on the host
  Notifications notifications_;
  Arguments first_, second_;
  Arguments* bound_ = nullptr;  // first_ or second_
  Arguments* free_ = &first_;   // the other
  RunState state_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_SESSION_H_
