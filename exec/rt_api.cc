#include "exec/rt_api.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "exec/float_mode.h"
#include "exec/fork.h"

namespace tailor {
namespace {

RunState& StateOf(RtContext* context) { return *reinterpret_cast<RunState*>(context); }

int32_t Note(RtContext* context, const Fault& fault) {
  StateOf(context).fault = fault;
  return 1;
}

// Records a number that is not below `count`. Generated code is read from a file, so its numbers are checked too.
int32_t NoteNumber(RtContext* context, IndexKind kind, int64_t number, uint64_t count) {
  return Note(context, {Fault::Kind::kNumber, static_cast<int32_t>(kind), 0, number, static_cast<int64_t>(count)});
}

// Negative numbers convert to large ones.
bool Below(int32_t number, uint64_t count) { return static_cast<uint32_t>(number) < count; }

int32_t Grow(RtContext* context, int32_t device, uint64_t bytes) {
  const RunState& state = StateOf(context);
  GrowingBuffer& workspace = *state.workspace;
  if (device < 0 || device > 1) [[unlikely]]
    return NoteNumber(context, IndexKind::kDevice, device, 2);
  const bool grown = device == (state.stream != nullptr ? 1 : 0) && workspace.Grow(bytes);
  context->workspace = workspace.data();
  context->workspace_bytes = workspace.size();
  return grown ? 0 : Note(context, {Fault::Kind::kWorkspace, device, 0, static_cast<int64_t>(bytes), 0});
}

// Checks the caller's buffer against the computed dims.
int32_t CheckWanted(RtContext* context, int32_t index, const int64_t* dims, size_t rank, uint64_t bytes) {
  const Arguments::Output& wanted = StateOf(context).arguments->output(index);
  for (size_t i = 0; i < rank; ++i) {
    if (wanted.dims[i] != dims[i] && wanted.dims[i] != kOpenDimSize) {
      return Note(context, {Fault::Kind::kOutputDim, index, static_cast<int32_t>(i), wanted.dims[i], dims[i]});
    }
  }
  if (wanted.capacity >= bytes || bytes == 0) return 0;
  return Note(context, {Fault::Kind::kOutputBytes, index, 0, static_cast<int64_t>(wanted.capacity),
                        static_cast<int64_t>(bytes)});
}

int32_t Output(RtContext* context, int32_t index, TensorArg* out, uint64_t bytes) {
  RunState& state = StateOf(context);
  if (!Below(index, state.outputs->size())) [[unlikely]]
    return NoteNumber(context, IndexKind::kOutput, index, state.outputs->size());
  const Arguments::Output& wanted = state.arguments->output(index);
  if (wanted.data != nullptr) {
    if (int32_t bad = CheckWanted(context, index, out[index].dims, state.arguments->output_rank(index), bytes)) {
      return bad;
    }
    if (wanted.target != nullptr) {
      out[index].data = wanted.target;
      return 0;
    }
  }
  GrowingBuffer& buffer = (*state.outputs)[index];
  if (!buffer.Grow(bytes)) {
    return Note(context, {Fault::Kind::kOutputMemory, index, 0, static_cast<int64_t>(bytes), 0});
  }
  out[index].data = bytes > 0 ? buffer.data() : EmptyTensorData();
  return 0;
}

int32_t Block(RtContext* context, int32_t number, TensorArg* out, uint64_t bytes) {
  std::vector<GrowingBuffer>& blocks = *StateOf(context).blocks;
  if (!Below(number, blocks.size())) [[unlikely]]
    return NoteNumber(context, IndexKind::kBlock, number, blocks.size());
  GrowingBuffer& block = blocks[number];
  // Grows by at least half, so that a repeatedly growing block is reallocated only a few times.
  const bool grown = bytes <= block.size() || block.Grow(std::max(bytes, block.size() / 2 * 3));
  out->data = block.size() > 0 ? block.data() : EmptyTensorData();
  return grown ? 0 : Note(context, {Fault::Kind::kWorkspace, 0, 0, static_cast<int64_t>(bytes), 0});
}

int32_t Fail(RtContext* context, int32_t check, int64_t lhs, int64_t rhs) {
  return Note(context, {Fault::Kind::kCheck, check, 0, lhs, rhs});
}

// A parallel_for in progress. Tasks form chunks of `tasks_per_chunk`, and chunks one stretch per worker. A worker
// begins with its own stretch, the same part of the data in every launch, then helps with the others.
struct Region {
  // The untaken tasks [next, end), and all that is needed to run them: the one cache line that a worker needs to begin.
  struct alignas(64) WorkerRange {
    std::atomic<int64_t> next;
    int64_t end;
    int64_t tasks_per_chunk;  // balanced: no short chunk at the end
    KernelFn kernel;
    const int64_t* args;
    Interrupt* interrupt;
  };
  static constexpr size_t kMaxStretches = 16;

  Region(RunState& state, KernelFn kernel, const int64_t* args, int64_t count, int64_t chunks, size_t ways)
      : stretches(std::min(ways, kMaxStretches)), float_control(state.float_control) {
    const int64_t tasks_per_chunk = count / chunks + (count % chunks != 0);
    const auto parts = static_cast<int64_t>(stretches);
    int64_t begin = 0;
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t share = chunks / parts + (i < chunks % parts);
      const int64_t end = i + 1 < parts ? std::min(begin + share * tasks_per_chunk, count) : count;
      stretch[i].next.store(begin, std::memory_order_relaxed);
      stretch[i].end = end;
      stretch[i].tasks_per_chunk = tasks_per_chunk;
      stretch[i].kernel = kernel;
      stretch[i].args = args;
      stretch[i].interrupt = &state.interrupt;
      begin = end;
    }
  }

  const size_t stretches;
  const arch::FloatControl float_control;  // of the run, for its workers
  WorkerRange stretch[kMaxStretches];
};

void Finish(Region::WorkerRange& stretch, size_t worker) {
  while (!stretch.interrupt->Ends()) {
    const int64_t begin = stretch.next.fetch_add(stretch.tasks_per_chunk, std::memory_order_relaxed);
    if (begin >= stretch.end) return;
    const int64_t end = stretch.end - begin > stretch.tasks_per_chunk ? begin + stretch.tasks_per_chunk : stretch.end;
    stretch.kernel(stretch.args, begin, end, static_cast<int64_t>(worker));
  }
}

// `worker` is below the region's ways. `thread`, the same in every launch, selects the stretch to begin with.
void Work(void* data, size_t worker, size_t thread) {
  Region& region = *static_cast<Region*>(data);
  const FloatMode mode(region.float_control);
  size_t at = thread < region.stretches ? thread : thread % region.stretches;
  for (size_t i = 0; i < region.stretches; ++i) {
    Finish(region.stretch[at], worker);
    at = at + 1 < region.stretches ? at + 1 : 0;
  }
}

// A region run by a host's executor, which may call tasks twice, or, if it fails, omit some.
struct HostExecutorRegion {
  explicit HostExecutorRegion(Region* region, size_t ways) : region(region), ways(ways) {
    for (size_t i = 0; i * 64 < ways; ++i) called[i].store(0, std::memory_order_relaxed);
  }

  // Task `index` uses the scratch of worker `index`, so only its first call runs.
  static void Task(void* data, size_t index) {
    HostExecutorRegion& host = *static_cast<HostExecutorRegion*>(data);
    if (index >= host.ways) return;
    const uint64_t bit = uint64_t{1} << index % 64;
    if ((host.called[index / 64].fetch_or(bit, std::memory_order_relaxed) & bit) == 0) Work(host.region, index, index);
  }

  // Finishes the region on an index that was never called; one index takes all remaining work.
  void Finish() {
    for (size_t index = 0; index < ways; ++index) {
      const uint64_t bits = called[index / 64].load(std::memory_order_relaxed);
      if ((bits >> index % 64 & 1) == 0) return Work(region, index, index);
    }
  }

  Region* const region;
  const size_t ways;
  std::atomic<uint64_t> called[(kMaxThreads + 63) / 64];
};

// Runs the region on up to `ways` threads. False, having run nothing, if only the caller's thread is available.
bool Spread(const Parallelism& parallelism, Region* region, size_t ways) {
  if (parallelism.executor.parallel_for != nullptr) {
    if (parallelism.generation != ForkGeneration()) return false;
    HostExecutorRegion host(region, ways);
    parallelism.executor.parallel_for(parallelism.executor.user, HostExecutorRegion::Task, &host, ways);
    host.Finish();
    return true;
  }
  return parallelism.team != nullptr && parallelism.team->TryRun(Work, region, ways, parallelism.sleep);
}

// Runs all tasks on this thread, in ranges of some 2 ms, so that the run can be interrupted between them: a kernel is
// faster on long ranges. The first range is one chunk.
void RunInRanges(Interrupt& interrupt, KernelFn kernel, const int64_t* args, int64_t count, int64_t tasks_per_chunk) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::nanoseconds kRange = std::chrono::milliseconds(2);
  int64_t range = tasks_per_chunk;
  Clock::time_point now = range < count ? Clock::now() : Clock::time_point();
  for (int64_t begin = 0, end = 0; !interrupt.Ends(); begin = end) {
    end = count - begin > range ? begin + range : count;
    kernel(args, begin, end, 0);
    if (end == count) return;
    const Clock::time_point before = std::exchange(now, Clock::now());
    const std::chrono::nanoseconds took = std::max<std::chrono::nanoseconds>(now - before, std::chrono::nanoseconds(1));
    // At most `count`, so that nothing overflows; count / range is at least 1.
    range = took > kRange ? std::max<int64_t>(range / 2, 1) : range * std::min<int64_t>(kRange / took, count / range);
  }
}

void ParallelFor(RtContext* context, KernelFn kernel, const int64_t* args, int64_t count, int64_t tasks_per_chunk) {
  if (count <= 0) return;
  RunState& state = StateOf(context);
  const Parallelism& parallelism = *state.parallelism;
  const int64_t chunk = std::max<int64_t>(tasks_per_chunk, 1);
  const int64_t chunks = count / chunk + (count % chunk != 0);
  const auto ways = std::min(parallelism.threads, static_cast<size_t>(chunks));
  if (ways > 1) {
    Region region(state, kernel, args, count, chunks, ways);
    if (Spread(parallelism, &region, ways)) return;
  }
  RunInRanges(state.interrupt, kernel, args, count, chunk);
}

int32_t Poll(RtContext* context, int32_t launch) {
  RunState& state = StateOf(context);
  if (state.tracing.on()) state.tracing.Mark(launch);
  return state.interrupt.Ends() ? Note(context, state.interrupt.reason()) : 0;
}

int32_t OfDevice(RtContext* context, bool done) { return done ? 0 : Note(context, {Fault::Kind::kDevice, 0, 0, 0, 0}); }

int32_t Launch(RtContext* context, int32_t, int32_t kernel, const int64_t* args, const LaunchGrid* grid) {
  const RunState& state = StateOf(context);
  if (!Below(kernel, state.kernels)) [[unlikely]]
    return NoteNumber(context, IndexKind::kKernel, kernel, state.kernels);
  return OfDevice(context, state.stream->Launch(kernel, args, *grid));
}

int32_t Readback(RtContext* context, int32_t, void* to, const void* from, uint64_t bytes) {
  DeviceStream& stream = *StateOf(context).stream;
  return OfDevice(context, (bytes == 0 || stream.Download(to, from, bytes)) && stream.Wait());
}

int32_t Offer(RtContext* context, const GemmArgs* gemm) { return AcceptsGemm(*StateOf(context).provider, *gemm); }

int32_t OfferToDevice(RtContext* context, const GemmArgs* gemm) { return StateOf(context).stream->AcceptsGemm(*gemm); }

int32_t ComputeOnDevice(RtContext* context, const GemmArgs* gemm) {
  return OfDevice(context, StateOf(context).stream->Multiply(*gemm));
}

int32_t ComputeGemm(RtContext* context, const GemmArgs* gemm) {
  const int32_t code = Multiply(*StateOf(context).provider, *gemm);
  return code == 0 ? 0 : Note(context, {Fault::Kind::kProvider, 0, 0, code, 0});
}

int32_t NoteCustom(RtContext* context, int32_t number, int32_t code) {
  return code == 0 ? 0 : Note(context, {Fault::Kind::kCustom, number, 0, code, 0});
}

int32_t Custom(RtContext* context, int32_t number, const TensorArg* arguments, void* workspace, uint64_t bytes) {
  const RunState& state = StateOf(context);
  if (!Below(number, state.custom->size())) [[unlikely]]
    return NoteNumber(context, IndexKind::kCustomCall, number, state.custom->size());
  if (state.stream != nullptr && !state.stream->LaunchGathered()) return OfDevice(context, false);
  if (state.custom->gives_run_state(number)) {
    return OfDevice(context, state.custom->GiveRunState(arguments[0], state.stream));
  }
  return NoteCustom(context, number, state.custom->Call(number, arguments, workspace, bytes, state.stream));
}

int32_t CustomWorkspace(RtContext* context, int32_t number, const TensorArg* arguments, uint64_t* bytes) {
  const RunState& state = StateOf(context);
  if (!Below(number, state.custom->size())) [[unlikely]]
    return NoteNumber(context, IndexKind::kCustomCall, number, state.custom->size());
  return NoteCustom(context, number, state.custom->Workspace(number, arguments, bytes));
}

constexpr RtApi kHostRtApi = {
    .struct_size = sizeof(RtApi),
    .grow = Grow,
    .output = Output,
    .parallel_for = ParallelFor,
    .fail = Fail,
    .launch = nullptr,
    .readback = nullptr,
    .block = Block,
    .offer = Offer,
    .gemm = ComputeGemm,
    .custom = Custom,
    .custom_workspace = CustomWorkspace,
    .poll = Poll,
};

constexpr RtApi DeviceTable() {
  RtApi table = kHostRtApi;
  table.launch = Launch;
  table.readback = Readback;
  table.offer = OfferToDevice;
  table.gemm = ComputeOnDevice;
  return table;
}

constexpr RtApi kDeviceRtApi = DeviceTable();

}  // namespace

int32_t IsInterrupted(RtContext* context) { return StateOf(context).interrupt.Ends() ? 1 : 0; }

const RtApi& HostRtApi() { return kHostRtApi; }

const RtApi& DeviceRtApi() { return kDeviceRtApi; }

}  // namespace tailor
