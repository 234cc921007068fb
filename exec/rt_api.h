// The runtime's side of exec/host_abi.h: what generated code calls, and the state behind RtContext.
#ifndef TAILOR_EXEC_RT_API_H_
#define TAILOR_EXEC_RT_API_H_

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

#include "exec/arguments.h"
#include "exec/device.h"
#include "exec/fault.h"
#include "exec/host_abi.h"
#include "exec/memory.h"
#include "exec/product_provider.h"
#include "exec/thread_team.h"

namespace tailor {

// How a session's kernels spread over threads.
struct Parallelism {
  // A host's own executor: calls task(data, i) for all i in [0, count), returns when all have returned.
  using HostFor = void (*)(void* user, void (*task)(void* data, size_t index), void* data, size_t count);

  size_t threads = 1;  // the most that work at once
  std::shared_ptr<ThreadTeam> team;
  HostFor host_for = nullptr;  // if set, used instead of a team
  void* host_user = nullptr;
  bool sleep = false;       // the team's workers block between regions
  uint64_t generation = 0;  // ForkGeneration when made
};

// Who is told of kernel launches.
struct Tracing {
  using Trace = void (*)(void* user, int32_t launch, int32_t phase);
  Trace trace = nullptr;
  void* user = nullptr;
};

// Everything that callbacks reach from the RtContext that generated code hands back. `context` is first: a
// pointer to it is a pointer to the whole.
struct RunState {
  RtContext context = {};
  Fault fault;
  Arguments* arguments = nullptr;  // of the run under way
  GrowingBuffer* workspace = nullptr;
  std::vector<GrowingBuffer>* outputs = nullptr;  // library-owned, by output
  std::vector<GrowingBuffer>* blocks = nullptr;   // by number
  uint64_t launches = 0;                          // Variant::launches: numbers below it are traced
  uint64_t kernels = 0;                           // Variant::device_kernels: numbers below it are launched
  const Parallelism* parallelism = nullptr;
  DeviceStream* stream = nullptr;  // where the program runs; null: on the host
  const ProductProvider* provider = nullptr;
  Tracing tracing;
};
static_assert(std::is_standard_layout_v<RunState> && offsetof(RunState, context) == 0);

// One table for all sessions on the host without tracing, and one for those with it; the same for devices. A plan may
// only call `fail`.
const RtApi& HostRtApi();
const RtApi& TracingRtApi();
const RtApi& DeviceRtApi();
const RtApi& TracingDeviceRtApi();

}  // namespace tailor

#endif  // TAILOR_EXEC_RT_API_H_
