#include "exec/rt_api.h"

#include <gtest/gtest.h>
#include <immintrin.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <numeric>
#include <set>
#include <vector>

#include "exec/fork.h"
#include "tests/exec/sample_tensors.h"
#include "tests/support/sample_program.h"

namespace tailor {
namespace {

constexpr int64_t kMaxTasks = 1000;

// What a kernel saw, by task; reached through its argument block.
struct Seen {
  std::array<std::atomic<int>, kMaxTasks> runs = {};
  std::array<std::atomic<int>, 8> inside = {};  // by worker
  std::atomic<int> calls{0}, longest{0}, collisions{0}, odd_modes{0};
  std::atomic<int64_t> largest_worker{-1};

  static void Kernel(const int64_t* args, int64_t begin, int64_t end, int64_t worker) {
    Seen& seen = *reinterpret_cast<Seen*>(args[0]);
    if (++seen.inside[worker] != 1) ++seen.collisions;
    ++seen.calls;
    if ((_mm_getcsr() & ~0x3fu) != 0x1f80) ++seen.odd_modes;
    seen.longest = std::max<int>(seen.longest, static_cast<int>(end - begin));
    seen.largest_worker = std::max<int64_t>(seen.largest_worker, worker);
    for (int64_t i = begin; i < end; ++i) ++seen.runs[i];
    --seen.inside[worker];
  }
  bool EachOnce(int64_t count) const {
    for (int64_t i = 0; i < kMaxTasks; ++i) {
      if (runs[i] != (i < count)) return false;
    }
    return true;
  }
};

void For(const Parallelism& parallelism, Seen* seen, int64_t count, int64_t tasks_per_chunk) {
  RunState state;
  state.parallelism = &parallelism;
  const int64_t args[] = {reinterpret_cast<int64_t>(seen)};
  HostRtApi().parallel_for(&state.context, Seen::Kernel, args, count, tasks_per_chunk);
}

Parallelism WithTeam(size_t threads) {
  return {threads, std::make_shared<ThreadTeam>(threads), {}, false, ForkGeneration()};
}

// An executor that runs tasks backwards on the caller's thread, and counts.
struct Host {
  size_t asked = 0;
  static void For(void* user, void (*task)(void*, size_t), void* data, size_t count) {
    static_cast<Host*>(user)->asked = count;
    for (size_t i = count; i-- > 0;) task(data, i);
  }
};

// The first range is a chunk; short ranges are followed by longer ones.
TEST(ParallelFor, OneThreadRunsFewRanges) {
  Seen seen;
  For({}, &seen, 1000, 7);
  EXPECT_TRUE(seen.EachOnce(1000));
  EXPECT_LT(seen.calls, 1000 / 7);
  EXPECT_GT(seen.longest, 7);
  EXPECT_EQ(seen.largest_worker, 0);
}

// A kernel that cancels the run in its first call.
struct Cancelling {
  RunState state;
  std::atomic<int64_t> tasks{0};

  static void Kernel(const int64_t* args, int64_t begin, int64_t end, int64_t) {
    Cancelling& run = *reinterpret_cast<Cancelling*>(args[0]);
    run.state.interrupt.Cancel();
    run.tasks += end - begin;
  }
  void For(const Parallelism& parallelism) {
    state.parallelism = &parallelism;
    const int64_t args[] = {reinterpret_cast<int64_t>(this)};
    HostRtApi().parallel_for(&state.context, Kernel, args, kMaxTasks, 1);
  }
};

TEST(ParallelFor, EndsWhenTheRunIsCancelled) {
  Host host;
  const Parallelism parallelisms[] = {{}, WithTeam(3), {4, nullptr, Host::For, &host, false, ForkGeneration()}};
  for (const Parallelism& parallelism : parallelisms) {
    Cancelling run;
    run.For(parallelism);
    EXPECT_LE(run.tasks, static_cast<int64_t>(parallelism.threads));  // a chunk of one task each
    EXPECT_NE(HostRtApi().poll(&run.state.context, kBetweenLaunches), 0);
    EXPECT_EQ(Text(DescribeFault(SampleProgram(), run.state.fault)), "1: the run was cancelled");
  }
}

TEST(Poll, ARunThatEndsStaysEnded) {
  RunState state;
  EXPECT_EQ(HostRtApi().poll(&state.context, kBetweenLaunches), 0);
  state.interrupt.Cancel();
  EXPECT_NE(HostRtApi().poll(&state.context, kBetweenLaunches), 0);
  state.interrupt.Uncancel();  // too late: the poll may have cut a launch short
  EXPECT_NE(HostRtApi().poll(&state.context, kBetweenLaunches), 0);
  state.interrupt.EndRun();
  EXPECT_EQ(HostRtApi().poll(&state.context, kBetweenLaunches), 0);
}

TEST(Poll, ADeadlineHoldsForEachRun) {
  RunState state;
  state.interrupt.SetTimeout(1);
  for (int run = 0; run < 2; ++run) {
    state.interrupt.BeginRun();
    while (HostRtApi().poll(&state.context, kBetweenLaunches) == 0) {
    }
    EXPECT_EQ(Text(DescribeFault(SampleProgram(), state.fault)), "4: the run did not end within its timeout of 1 ns");
    state.interrupt.EndRun();
  }
  state.interrupt.SetTimeout(INT64_MAX);
  state.interrupt.BeginRun();
  EXPECT_EQ(HostRtApi().poll(&state.context, kBetweenLaunches), 0);
  state.interrupt.SetTimeout(0);
  EXPECT_EQ(state.context.interrupt, 0);
}

TEST(ParallelFor, ChunksOverTheTeam) {
  const Parallelism parallelism = WithTeam(3);
  for (int64_t count : {1, 6, 7, 8, 100, 1000}) {
    Seen seen;
    For(parallelism, &seen, count, 7);
    EXPECT_TRUE(seen.EachOnce(count)) << count;
    EXPECT_LE(seen.longest, 7);
    EXPECT_LT(seen.largest_worker, 3);
    EXPECT_EQ(seen.collisions, 0);
  }
}

TEST(ParallelFor, ChunksAreEven) {
  Seen seen;
  For(WithTeam(2), &seen, 24, 21);
  EXPECT_TRUE(seen.EachOnce(24));
  EXPECT_EQ(seen.longest, 12);
  EXPECT_EQ(seen.calls, 2);
}

TEST(ParallelFor, NoTasksMakeNoCall) {
  Seen seen;
  For(WithTeam(2), &seen, 0, 1);
  For(WithTeam(2), &seen, -5, 1);
  EXPECT_EQ(seen.calls, 0);
}

TEST(ParallelFor, OddChunksDoNoHarm) {
  const Parallelism parallelism = WithTeam(2);
  for (int64_t tasks_per_chunk : {int64_t{0}, int64_t{-3}, INT64_MAX}) {
    Seen seen;
    For(parallelism, &seen, 50, tasks_per_chunk);
    EXPECT_TRUE(seen.EachOnce(50));
  }
}

TEST(ParallelFor, UsesTheHostsExecutor) {
  Host host;
  const Parallelism parallelism = {4, nullptr, Host::For, &host, false, ForkGeneration()};
  Seen seen;
  For(parallelism, &seen, 100, 10);
  EXPECT_TRUE(seen.EachOnce(100));
  EXPECT_EQ(host.asked, 4u);
  EXPECT_LE(seen.longest, 10);
  Seen few;
  For(parallelism, &few, 15, 10);
  EXPECT_TRUE(few.EachOnce(15));
  EXPECT_EQ(host.asked, 2u);
}

TEST(ParallelFor, WorksAloneInAForkedChild) {
  Host host;
  const Parallelism by_host = {4, nullptr, Host::For, &host, false, ForkGeneration()};
  const Parallelism by_team = WithTeam(2);
  const pid_t child = fork();
  if (child == 0) {
    Seen first, second;
    For(by_host, &first, 100, 10);
    For(by_team, &second, 100, 10);
    _exit(first.EachOnce(100) && second.EachOnce(100) && second.largest_worker == 0 && host.asked == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ParallelFor, EveryThreadComputesInTheDefaultMode) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x1f80 | 0x8040);  // threads inherit the mode of their maker
  const Parallelism parallelism = WithTeam(4);
  Seen seen;
  For(parallelism, &seen, 1000, 1);
  EXPECT_EQ(_mm_getcsr(), 0x1f80u | 0x8040);
  _mm_setcsr(before);
  EXPECT_EQ(seen.odd_modes, 0);
}

// A run's state around the sample's signature.
struct OutputState {
  explicit OutputState(std::vector<Tensor> tensors) {
    EXPECT_EQ(Text(arguments.SetOutputs(Outputs(tensors), OutputUse::kMayProvide)), "OK");
    buffers.emplace_back(allocator);
    buffers.emplace_back(allocator);
    state.arguments = &arguments;
    state.outputs = &buffers;
    out = arguments.out();
  }
  int32_t Output(int32_t index, uint64_t bytes) { return HostRtApi().output(&state.context, index, out, bytes); }
  const Program program = SampleProgram();
  const Allocator allocator;
  Arguments arguments{program, allocator};
  std::vector<GrowingBuffer> buffers;
  RunState state;
  TensorArg* out;
};

TEST(Output, ProvidesABufferAndKeepsIt) {
  OutputState run({Tensor{}, Tensor{}});
  ASSERT_EQ(run.Output(1, 40), 0);
  void* const data = run.out[1].data;
  ASSERT_NE(data, nullptr);
  ASSERT_EQ(run.Output(1, 20), 0);
  EXPECT_EQ(run.out[1].data, data);
  ASSERT_EQ(run.Output(0, 0), 0);
  EXPECT_NE(run.out[0].data, nullptr);
}

TEST(Output, HoldsTheCallersBufferAgainstTheResult) {
  float y[12], total[3];
  OutputState run({TensorOf(y, sizeof(y), DType::kF32, {3, 4}), TensorOf(total, sizeof(total), DType::kF32, {3})});
  run.out[0].dims[0] = 3;
  run.out[0].dims[1] = 4;
  ASSERT_EQ(run.Output(0, 48), 0);
  EXPECT_EQ(run.out[0].data, y);
  run.out[0].dims[1] = 5;
  EXPECT_NE(run.Output(0, 60), 0);
  EXPECT_EQ(Text(DescribeFault(run.program, run.state.fault)), "3: output \"y\" dim 1 is 4, but the result has 5");
  run.out[1].dims[0] = 3;
  EXPECT_NE(run.Output(1, 16), 0);
  EXPECT_EQ(Text(DescribeFault(run.program, run.state.fault)),
            "3: output \"total\": data_bytes is 12, but the result has 16");
}

TEST(Grow, KnowsNoDeviceButTheHost) {
  const Allocator allocator;
  GrowingBuffer workspace(allocator);
  RunState state;
  state.workspace = &workspace;
  EXPECT_EQ(HostRtApi().grow(&state.context, 0, 1000), 0);
  EXPECT_EQ(state.context.workspace, workspace.data());
  EXPECT_EQ(state.context.workspace_bytes, 1000u);
  EXPECT_NE(HostRtApi().grow(&state.context, 1, 10), 0);
  EXPECT_EQ(state.fault.kind, Fault::Kind::kWorkspace);
}

constexpr int32_t kNoNumbers[] = {-1, 2, INT32_MAX, INT32_MIN};  // where there are two

TEST(Numbers, AnOutputThatDoesNotExistFails) {
  OutputState run({Tensor{}, Tensor{}});
  for (const int32_t index : kNoNumbers) {
    EXPECT_NE(run.Output(index, 40), 0);
    EXPECT_EQ(Text(DescribeFault(run.program, run.state.fault)),
              "13: the compiled program named output " + std::to_string(index) + ", but there are 2");
  }
  EXPECT_EQ(run.buffers[0].size() + run.buffers[1].size(), 0u);
}

TEST(Numbers, ABlockThatDoesNotExistFails) {
  const Allocator allocator;
  std::vector<GrowingBuffer> blocks;
  blocks.emplace_back(allocator);
  blocks.emplace_back(allocator);
  RunState state;
  state.blocks = &blocks;
  TensorArg out = {};
  for (const int32_t number : kNoNumbers) {
    EXPECT_NE(HostRtApi().block(&state.context, number, &out, 64), 0);
    EXPECT_EQ(Text(DescribeFault(SampleProgram(), state.fault)),
              "13: the compiled program named growing block " + std::to_string(number) + ", but there are 2");
  }
  EXPECT_EQ(out.data, nullptr);
  EXPECT_EQ(HostRtApi().block(&state.context, 1, &out, 64), 0);
  EXPECT_EQ(out.data, blocks[1].data());
}

TEST(Numbers, AKernelThatDoesNotExistFails) {
  RunState state;  // its stream is null: a launch that got there would crash
  state.kernels = 2;
  const LaunchGrid grid = {1, 0, 0};
  for (const int32_t kernel : kNoNumbers) {
    EXPECT_NE(DeviceRtApi().launch(&state.context, 1, kernel, nullptr, &grid), 0);
    EXPECT_EQ(Text(DescribeFault(SampleProgram(), state.fault)),
              "13: the compiled program named device kernel " + std::to_string(kernel) + ", but there are 2");
  }
}

TEST(Numbers, ADeviceThatDoesNotExistFails) {
  const Allocator allocator;
  GrowingBuffer workspace(allocator);
  RunState state;
  state.workspace = &workspace;
  for (const int32_t device : kNoNumbers) {
    EXPECT_NE(HostRtApi().grow(&state.context, device, 10), 0);
    EXPECT_EQ(Text(DescribeFault(SampleProgram(), state.fault)),
              "13: the compiled program named device " + std::to_string(device) + ", but there are 2");
  }
}

TEST(Numbers, ALaunchThatDoesNotExistIsNotTraced) {
  std::vector<int32_t> traced;
  RunState state;
  const auto trace = [](void* user, const TraceEvent* event) {
    static_cast<std::vector<int32_t>*>(user)->push_back(event->launch);
  };
  state.tracing = Tracing({.trace = trace, .user = &traced}, /*launches=*/2);
  for (const int32_t launch : kNoNumbers) EXPECT_EQ(HostRtApi().poll(&state.context, launch), 0);
  EXPECT_TRUE(traced.empty());
  EXPECT_EQ(HostRtApi().poll(&state.context, 1), 0);
  EXPECT_EQ(traced, std::vector<int32_t>{1});
}

int64_t MonotonicNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

TEST(TracingTest, ALaunchBeginsAtTheLastPollOutsideOfLaunches) {
  struct Seen {
    std::vector<TraceEvent> events;
    int64_t returned = 0;  // from the last event
  } seen;
  RunState state;
  const auto trace = [](void* user, const TraceEvent* event) {
    auto* const seen = static_cast<Seen*>(user);
    seen->events.push_back(*event);
    seen->returned = MonotonicNs();
  };
  state.tracing = Tracing({.trace = trace, .user = &seen}, /*launches=*/2);
  const auto poll = [&](int32_t launch) { EXPECT_EQ(HostRtApi().poll(&state.context, launch), 0); };
  poll(0);
  EXPECT_GE(seen.events.at(0).end_ns, seen.events.at(0).begin_ns);
  const int64_t returned = seen.returned;
  poll(1);
  EXPECT_GE(seen.events.at(1).begin_ns, returned);  // without the time of the trace function
  const int64_t between = MonotonicNs();
  poll(kBetweenLaunches);
  const int64_t begun = MonotonicNs();
  poll(kWithinLaunch);
  poll(1);
  ASSERT_EQ(seen.events.size(), 3u);
  EXPECT_GE(seen.events[2].begin_ns, between);
  EXPECT_LE(seen.events[2].begin_ns, begun);
}

}  // namespace
}  // namespace tailor
