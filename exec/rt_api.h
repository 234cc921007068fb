// The runtime's side of exec/host_abi.h: the functions that generated code calls, and the state behind RtContext.
#ifndef TAILOR_EXEC_RT_API_H_
#define TAILOR_EXEC_RT_API_H_

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

#include "exec/arguments.h"
#include "exec/custom_operator.h"
#include "exec/device.h"
#include "exec/fault.h"
#include "exec/float_mode.h"
#include "exec/host_abi.h"
#include "exec/interrupt.h"
#include "exec/memory.h"
#include "exec/matmul_provider.h"
#include "exec/runtime.h"
#include "exec/thread_team.h"
#include "exec/tracing.h"

namespace tailor {

// How a session runs kernels in parallel.
struct Parallelism {
  size_t threads = 1;  // maximum, including the caller's
  std::shared_ptr<ThreadTeam> team;
  HostExecutor executor;    // if set, replaces the team
  bool sleep = false;       // the team's workers block between regions instead of spinning
  uint64_t generation = 0;  // ForkGeneration when made
};

// The state behind an RtContext. `context` is the first member, so that callbacks can convert the RtContext* that
// generated code passes to a RunState*.
struct RunState {
  RtContext context = {};
  Fault fault;
  Arguments* arguments = nullptr;  // of the current run
  GrowingBuffer* workspace = nullptr;
  std::vector<GrowingBuffer>* outputs = nullptr;  // library-owned, by output
  std::vector<GrowingBuffer>* blocks = nullptr;   // by block number
  uint64_t kernels = 0;                           // number of Variant::device_kernels; launched numbers are below it
  const Parallelism* parallelism = nullptr;
  DeviceStream* stream = nullptr;  // where the program runs; null on the host
  const MatmulProvider* provider = nullptr;
  CustomCaller* custom = nullptr;
  arch::FloatControl float_control = FloatControlOf(/*flush_denormals=*/false);  // of all threads during runs
  Interrupt interrupt{&context.interrupt};
  Tracing tracing;
};
static_assert(std::is_standard_layout_v<RunState> && offsetof(RunState, context) == 0);

// RtContext::interrupted.
int32_t IsInterrupted(RtContext* context);

// The callback tables of sessions on the host and on devices. Plan functions may only call `fail` and
// `custom_workspace`.
const RtApi& HostRtApi();
const RtApi& DeviceRtApi();

}  // namespace tailor

#endif  // TAILOR_EXEC_RT_API_H_
