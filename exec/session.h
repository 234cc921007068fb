// Session: what one stream of runs needs: workspace, library-owned outputs, memo, threads. One run at a time.
#ifndef TAILOR_EXEC_SESSION_H_
#define TAILOR_EXEC_SESSION_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "exec/arguments.h"
#include "exec/counters.h"
#include "exec/executable.h"
#include "exec/failure.h"
#include "exec/rt_api.h"

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
  };

  // `executable` outlives the session.
  static Failure Create(const Executable& executable, const Options& options, std::unique_ptr<Session>* out);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Writes results to `outputs`, whose structs change only on success.
  Failure Run(InputList inputs, OutputList outputs, OutputUse use);

  // Fixes what RunBound uses. On failure the last binding stays.
  Failure Bind(InputList inputs, OutputList outputs);
  // The fast path: no allocation, no lock. On false, BoundFailure() says why.
  bool RunBound() { return bound_ != nullptr && Execute(bound_) == 0; }
  Failure BoundFailure() const;

  // Grows the workspace to what a run at these shapes needs.
  Failure Reserve(InputList inputs);

 private:
  Session(const Executable& executable, const Options& options, Parallelism parallelism);
  int32_t Execute(Arguments* arguments);

  const Executable& executable_;
  const RunFn run_;
  const RtApi& api_;
  const Parallelism parallelism_;
  const InputUse input_use_;
  RunCounter runs_;
  GrowingBuffer workspace_;
  std::vector<GrowingBuffer> output_buffers_, blocks_;
  std::vector<int64_t> memo_;
  Arguments first_, second_;
  Arguments* bound_ = nullptr;  // first_ or second_
  Arguments* free_ = &first_;   // the other
  RunState state_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_SESSION_H_
