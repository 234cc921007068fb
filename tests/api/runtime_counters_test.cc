// Counters of executables, trimming, and the limits of session pools.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "tests/api/runtime_fixture.h"

namespace tailor {
namespace {

constexpr uint64_t kScaleBytes = 4 * sizeof(float);  // of the sample's only constant

tailor_executable_counts CountsOf(const ExecutableHandle& executable) {
  tailor_executable_counts counts;
  tailor_executable_counts_init(&counts);
  EXPECT_EQ(Text(tailor_executable_counters(executable.get(), &counts)), "OK");
  return counts;
}

std::string RunPooled(SampleCall* call, const ExecutableHandle& executable) {
  return Text(tailor_executable_run(executable.get(), call->inputs.data(), call->inputs.size(), call->outputs.data(),
                                    call->outputs.size()));
}

// Counts the bytes that a runtime's library has allocated and not freed.
struct ByteLedger {
  std::atomic<uint64_t> bytes{0};
  static void* Allocate(void* user, size_t bytes, size_t alignment) {
    static_cast<ByteLedger*>(user)->bytes += bytes;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  static void Deallocate(void* user, void* data, size_t bytes) {
    static_cast<ByteLedger*>(user)->bytes -= bytes;
    std::free(data);
  }
};

tailor_runtime_options OptionsWith(ByteLedger* ledger) {
  tailor_runtime_options options;
  tailor_runtime_options_init(&options);
  options.allocate = ByteLedger::Allocate;
  options.deallocate = ByteLedger::Deallocate;
  options.user = ledger;
  return options;
}

ExecutableHandle LoadWith(const tailor_runtime_options& options) {
  tailor_runtime* runtime = nullptr;
  EXPECT_EQ(Text(tailor_runtime_create(&options, &runtime)), "OK");
  ExecutableHandle executable = LoadSample(runtime);
  tailor_runtime_release(runtime);
  return executable;
}

TEST(ExecutableCounters, AreSumsOverSessionsAlsoEndedOnes) {
  const ExecutableHandle executable = LoadSample(), other = LoadSample();
  SessionHandle first = MakeSession(executable.get()), second = MakeSession(executable.get());
  SampleCall small(3), large(500), wrong(3);
  wrong.inputs[1].dims[0] = 2;  // refused by a check of the program
  EXPECT_EQ(small.Run(first.get()), "OK");
  EXPECT_EQ(small.Run(first.get()), "OK");
  EXPECT_EQ(large.Run(second.get()), "OK");
  EXPECT_NE(wrong.Run(second.get()), "OK");
  wrong.inputs[1].rank = 5;  // refused before
  EXPECT_NE(wrong.Run(second.get()), "OK");
  tailor_executable_counts counts = CountsOf(executable);
  EXPECT_EQ(counts.runs, 5u);
  EXPECT_EQ(counts.failed_runs, 2u);
  EXPECT_EQ(counts.cancelled_runs, 0u);
  EXPECT_EQ(counts.runs_in_progress, 0u);
  EXPECT_EQ(counts.sessions, 2u);
  EXPECT_EQ(counts.shape_cache_misses, 2u);
  EXPECT_EQ(counts.workspace_growths, 2u);
  EXPECT_EQ(counts.constants_bytes, kScaleBytes);
  first.reset();
  second.reset();
  counts = CountsOf(executable);
  EXPECT_EQ(counts.runs, 5u);
  EXPECT_EQ(counts.failed_runs, 2u);
  EXPECT_EQ(counts.sessions, 0u);
  EXPECT_EQ(counts.shape_cache_misses, 2u);
  EXPECT_EQ(counts.workspace_bytes, 0u);
  EXPECT_EQ(CountsOf(other).runs, 0u);
}

TEST(ExecutableCounters, BoundRunsCountAndMissTheCacheOnce) {
  const ExecutableHandle executable = LoadSample();
  const SessionHandle session = MakeSession(executable.get());
  SampleCall call(20), other(30);
  ASSERT_EQ(call.Bind(session.get()), "OK");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Text(tailor_session_run_bound(session.get())), "OK");
  EXPECT_EQ(CountsOf(executable).runs, 5u);
  EXPECT_EQ(CountsOf(executable).shape_cache_misses, 1u);
  EXPECT_EQ(other.Run(session.get()), "OK");
  EXPECT_EQ(Text(tailor_session_run_bound(session.get())), "OK");
  EXPECT_EQ(CountsOf(executable).shape_cache_misses, 3u);
}

TEST(ExecutableCounters, ARunIsInProgressInItsCallbacks) {
  struct Host {
    const ExecutableHandle* executable;
    uint64_t in_progress = 0, runs = 0;
    static void For(void* user, void (*task)(void*, size_t), void* data, size_t count) {
      auto& host = *static_cast<Host*>(user);
      host.in_progress = CountsOf(*host.executable).runs_in_progress;
      host.runs = CountsOf(*host.executable).runs;
      for (size_t i = 0; i < count; ++i) task(data, i);
    }
  };
  const ExecutableHandle executable = LoadSample();
  Host host{&executable};
  tailor_session_options options;
  tailor_session_options_init(&options);
  options.threads = 2;
  options.parallel_for = Host::For;
  options.parallel_user = &host;
  const SessionHandle session = MakeSession(executable.get(), &options);
  SampleCall call(1000);
  EXPECT_EQ(call.Run(session.get()), "OK");
  EXPECT_EQ(host.in_progress, 1u);
  EXPECT_EQ(host.runs, 1u);
  EXPECT_EQ(CountsOf(executable).runs_in_progress, 0u);
}

TEST(ExecutableCounters, CancelledAndLateRunsHaveFailed) {
  const ExecutableHandle executable = LoadSample();
  const SessionHandle session = MakeSession(executable.get());
  SampleCall call(10);
  EXPECT_EQ(Text(tailor_session_cancel(session.get())), "OK");
  EXPECT_NE(call.Run(session.get()), "OK");
  EXPECT_EQ(Text(tailor_session_set_timeout(session.get(), 1)), "OK");
  EXPECT_NE(call.Run(session.get()), "OK");
  EXPECT_EQ(Text(tailor_session_set_timeout(session.get(), 0)), "OK");
  EXPECT_EQ(call.Run(session.get()), "OK");
  const tailor_executable_counts counts = CountsOf(executable);
  EXPECT_EQ(counts.runs, 3u);
  EXPECT_EQ(counts.failed_runs, 2u);
  EXPECT_EQ(counts.cancelled_runs, 2u);
}

TEST(ExecutableCounters, NameWrongParameters) {
  const ExecutableHandle executable = LoadSample();
  const SessionHandle session = MakeSession(executable.get());
  tailor_executable_counts counts;
  tailor_executable_counts_init(&counts);
  EXPECT_EQ(Text(tailor_executable_counters(nullptr, &counts)), "3: tailor_executable_counters: executable is null");
  EXPECT_EQ(Text(tailor_executable_counters(executable.get(), nullptr)), "3: tailor_executable_counters: out is null");
  counts.struct_size = 1;
  EXPECT_EQ(Text(tailor_executable_counters(executable.get(), &counts)),
            "3: tailor_executable_counters: out has a wrong struct_size: use its _init function");
  const auto* wrong = reinterpret_cast<const tailor_executable*>(session.get());
  EXPECT_EQ(Text(tailor_executable_trim(wrong)), "3: tailor_executable_trim: executable is a handle of another kind");
  EXPECT_EQ(Text(tailor_session_trim(nullptr)), "3: tailor_session_trim: session is null");
}

TEST(Trim, GivesAllMemoryBackAndResultsStayRight) {
  ByteLedger ledger;
  const ExecutableHandle executable = LoadWith(OptionsWith(&ledger));
  tailor_session_options options;
  tailor_session_options_init(&options);
  options.copy_strided = 1;
  const SessionHandle session = MakeSession(executable.get(), &options);
  SampleCall call(100);
  const int64_t strides[] = {4, 1}, shrunk[] = {1, 100};
  call.inputs[0].strides = shrunk;  // copied, with wrong contents
  call.outputs[0].data = nullptr;
  EXPECT_EQ(call.Run(session.get()), "OK");
  EXPECT_EQ(ledger.bytes, 2 * 1600u + 448 + kSampleScratchBytes);  // a copy, an output, the workspace
  EXPECT_EQ(CountsOf(executable).workspace_bytes, ledger.bytes);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(Text(tailor_session_trim(session.get())), "OK");
    EXPECT_EQ(ledger.bytes, 0u);
    EXPECT_EQ(CountsOf(executable).workspace_bytes, 0u);
    SampleCall again(100 + round);
    again.inputs[0].strides = strides;
    EXPECT_EQ(again.Run(session.get()), "OK");
    again.ExpectResults();
    EXPECT_GT(ledger.bytes, 0u);
  }
}

TEST(Trim, BoundBuffersStayBound) {
  ByteLedger ledger;
  const ExecutableHandle executable = LoadWith(OptionsWith(&ledger));
  tailor_session_options options;
  tailor_session_options_init(&options);
  options.copy_strided = 1;
  const SessionHandle session = MakeSession(executable.get(), &options);
  SampleCall call(50);
  std::vector<float> columns(call.x.size());
  for (size_t i = 0; i < call.x.size(); ++i) columns[i % 4 * 50 + i / 4] = call.x[i];
  const int64_t transposed[] = {1, 50};
  call.inputs[0].data = columns.data();
  call.inputs[0].strides = transposed;
  ASSERT_EQ(call.Bind(session.get()), "OK");
  for (int round = 0; round < 3; ++round) {
    call.y.assign(call.y.size(), 0);
    EXPECT_EQ(Text(tailor_session_run_bound(session.get())), "OK");
    call.ExpectResults();
    EXPECT_EQ(Text(tailor_session_trim(session.get())), "OK");
    EXPECT_EQ(ledger.bytes, 800u);  // the copy
  }
}

TEST(Trim, OfAnExecutableFreesIdleSessionsOnly) {
  ByteLedger ledger;
  const ExecutableHandle executable = LoadWith(OptionsWith(&ledger));
  const SessionHandle own = MakeSession(executable.get());
  SampleCall call(100);
  EXPECT_EQ(call.Run(own.get()), "OK");
  const uint64_t of_own = ledger.bytes;
  EXPECT_EQ(RunPooled(&call, executable), "OK");
  EXPECT_EQ(CountsOf(executable).pooled_sessions, 1u);
  EXPECT_EQ(CountsOf(executable).sessions, 2u);
  EXPECT_GT(ledger.bytes, of_own);
  EXPECT_EQ(Text(tailor_executable_trim(executable.get())), "OK");
  EXPECT_EQ(ledger.bytes, of_own);
  EXPECT_EQ(CountsOf(executable).pooled_sessions, 0u);
  EXPECT_EQ(CountsOf(executable).sessions, 1u);
  EXPECT_EQ(RunPooled(&call, executable), "OK");
  call.ExpectResults();
}

// `callers` pooled runs in progress at once: each run's executor begins the next.
struct Nested {
  const tailor_executable* executable = nullptr;
  int to_begin = 0;

  static void For(void* user, void (*task)(void*, size_t), void* data, size_t count) {
    auto& nested = *static_cast<Nested*>(user);
    if (nested.to_begin > 0) nested.Run();
    for (size_t i = 0; i < count; ++i) task(data, i);
  }
  void Run() {
    --to_begin;
    SampleCall call(1000);
    EXPECT_EQ(Text(tailor_executable_run(executable, call.inputs.data(), 2, call.outputs.data(), 2)), "OK");
    call.ExpectResults();
  }
  void RunAtOnce(int callers) {
    to_begin = callers;
    Run();
  }
};

TEST(Pool, KeepsAsManySessionsAsTheRuntimeStates) {
  for (const uint64_t limit : {uint64_t{0}, uint64_t{1}, uint64_t{3}}) {
    Nested nested;
    tailor_runtime_options options;
    tailor_runtime_options_init(&options);
    options.parallel_for = Nested::For;
    options.parallel_user = &nested;
    options.parallel_threads = 2;
    options.pooled_sessions = limit;
    const ExecutableHandle executable = LoadWith(options);
    nested.executable = executable.get();
    nested.RunAtOnce(20);
    EXPECT_EQ(nested.to_begin, 0);
    EXPECT_EQ(CountsOf(executable).runs, 20u);
    EXPECT_EQ(CountsOf(executable).pooled_sessions, limit == 0 ? 16 : limit);
    EXPECT_EQ(CountsOf(executable).sessions, limit == 0 ? 16 : limit);
  }
}

TEST(Pool, TrimsSessionsBeyondTheBytes) {
  ByteLedger ledger;
  uint64_t bytes_of_one = 0;
  {
    tailor_runtime_options options = OptionsWith(&ledger);
    options.parallel_threads = 2;
    const ExecutableHandle executable = LoadWith(options);
    SampleCall call(1000);
    EXPECT_EQ(RunPooled(&call, executable), "OK");
    bytes_of_one = CountsOf(executable).workspace_bytes;
    EXPECT_GT(bytes_of_one, 0u);
  }
  EXPECT_EQ(ledger.bytes, 0u);
  for (const uint64_t fit : {0, 1, 3}) {
    Nested nested;
    tailor_runtime_options options = OptionsWith(&ledger);
    options.parallel_for = Nested::For;
    options.parallel_user = &nested;
    options.parallel_threads = 2;
    options.pooled_bytes = fit * bytes_of_one + bytes_of_one / 2;
    const ExecutableHandle executable = LoadWith(options);
    nested.executable = executable.get();
    for (int round = 0; round < 3; ++round) {
      nested.RunAtOnce(5);
      EXPECT_EQ(CountsOf(executable).pooled_sessions, 5u);
      EXPECT_EQ(CountsOf(executable).workspace_bytes, fit * bytes_of_one);
      EXPECT_EQ(ledger.bytes, fit * bytes_of_one);
    }
  }
  EXPECT_EQ(ledger.bytes, 0u);
}

TEST(Pool, SixteenThreadsRunAndTrimWithinTheLimits) {
  ByteLedger ledger;
  {
    tailor_runtime_options options = OptionsWith(&ledger);
    options.parallel_threads = 3;
    options.pooled_sessions = 4;
    options.pooled_bytes = 20000;
    const ExecutableHandle executable = LoadWith(options);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 16; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 50; ++i) {
          SampleCall call(1 + (t * 131 + i * 37) % 900);
          wrong += RunPooled(&call, executable) != "OK" || call.y != call.want_y || call.total != call.want_total;
          if (i % 10 == t % 10) wrong += tailor_executable_trim(executable.get()) != nullptr;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    const tailor_executable_counts counts = CountsOf(executable);
    EXPECT_EQ(counts.runs, 800u);
    EXPECT_EQ(counts.failed_runs, 0u);
    EXPECT_LE(counts.pooled_sessions, 4u);
    EXPECT_LE(counts.workspace_bytes, 20000u);
    EXPECT_EQ(counts.workspace_bytes, ledger.bytes);
  }
  EXPECT_EQ(ledger.bytes, 0u);
}

TEST(Pool, LimitsHaveLimits) {
  tailor_runtime_options options;
  tailor_runtime_options_init(&options);
  options.pooled_sessions = 5000;
  tailor_runtime* runtime = nullptr;
  EXPECT_EQ(Text(tailor_runtime_create(&options, &runtime)), "3: options.pooled_sessions is 5000, at most 4096");
  options.pooled_sessions = 0;
  options.parallel_threads = 4097;
  EXPECT_EQ(Text(tailor_runtime_create(&options, &runtime)), "3: options.parallel_threads is 4097, at most 4096");
  EXPECT_EQ(runtime, nullptr);
}

}  // namespace
}  // namespace tailor
