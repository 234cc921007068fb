#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "api/dlpack.h"
#include "tests/api/runtime_fixture.h"

namespace tailor {
namespace {

struct Ledger {
  int live = 0;
  std::string log;
  static void* Allocate(void* user, size_t bytes, size_t alignment) {
    ++static_cast<Ledger*>(user)->live;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  static void Deallocate(void* user, void* data, size_t) {
    --static_cast<Ledger*>(user)->live;
    std::free(data);
  }
  static void Log(void* user, int32_t level, const char* message) {
    static_cast<Ledger*>(user)->log += std::to_string(level) + " " + message + "\n";
  }
};

TEST(Runtime, WorkspacesAndOutputsComeFromTheHost) {
  Ledger ledger;
  tailor_runtime_options options;
  tailor_runtime_options_init(&options);
  options.allocate = Ledger::Allocate;
  options.deallocate = Ledger::Deallocate;
  options.log = Ledger::Log;
  options.user = &ledger;
  tailor_runtime* runtime = nullptr;
  ASSERT_EQ(Text(tailor_runtime_create(&options, &runtime)), "OK");
  ExecutableHandle executable = LoadSample(runtime);
  tailor_runtime_release(runtime);  // the executable keeps it alive
  EXPECT_EQ(ledger.log, "0 graph \"sample\": variant x86-64 is used\n");
  SessionHandle session = MakeSession(executable.get());
  executable.reset();  // the session keeps that alive
  SampleCall call(10);
  call.outputs[0].data = nullptr;
  EXPECT_EQ(call.Run(session.get()), "OK");
  EXPECT_EQ(ledger.live, 2);
  session.reset();
  EXPECT_EQ(ledger.live, 0);
}

// An executor that records its calls: every index on a thread of its own, twice, and one that does not exist.
struct RecordingExecutor {
  std::atomic<int> calls{0};
  std::atomic<size_t> most{0};
  bool omits = false;

  static void For(void* user, void (*task)(void*, size_t), void* data, size_t count) {
    auto& executor = *static_cast<RecordingExecutor*>(user);
    ++executor.calls;
    executor.most = std::max<size_t>(executor.most, count);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < 2 * count; ++i) {
      if (!executor.omits || i % 3 == 0) threads.emplace_back(task, data, i / 2);
    }
    task(data, count);
    for (std::thread& thread : threads) thread.join();
  }
};

TEST(Runtime, ItsExecutorServesSessionsThatHaveNone) {
  for (const bool omits : {false, true}) {
    RecordingExecutor executor, own;
    executor.omits = omits;
    tailor_runtime_options options;
    tailor_runtime_options_init(&options);
    options.parallel_for = RecordingExecutor::For;
    options.parallel_user = &executor;
    options.parallel_threads = 3;
    tailor_runtime* runtime = nullptr;
    ASSERT_EQ(Text(tailor_runtime_create(&options, &runtime)), "OK");
    const ExecutableHandle executable = LoadSample(runtime);
    tailor_runtime_release(runtime);
    const auto run = [&](uint64_t threads, RecordingExecutor* own_executor) {
      tailor_session_options session_options;
      tailor_session_options_init(&session_options);
      session_options.threads = threads;
      if (own_executor != nullptr) session_options.parallel_for = RecordingExecutor::For;
      session_options.parallel_user = own_executor;
      const SessionHandle session = MakeSession(executable.get(), &session_options);
      SampleCall call(1000);
      EXPECT_EQ(call.Run(session.get()), "OK");
      call.ExpectResults();
    };
    run(1, nullptr);
    EXPECT_EQ(executor.calls, 0);
    run(0, &own);
    EXPECT_EQ(executor.calls, 0);
    EXPECT_EQ(own.most, 3u);
    run(0, nullptr);
    EXPECT_EQ(executor.calls, 2);  // both kernels
    EXPECT_EQ(executor.most, 3u);
    run(5, nullptr);
    EXPECT_EQ(executor.most, 5u);
    SampleCall call(1000);
    EXPECT_EQ(Text(tailor_executable_run(executable.get(), call.inputs.data(), 2, call.outputs.data(), 2)), "OK");
    call.ExpectResults();
    EXPECT_EQ(executor.calls, 6);
  }
}

TEST(Runtime, ItsThreadsServePooledSessions) {
  tailor_runtime_options options;
  tailor_runtime_options_init(&options);
  options.parallel_threads = 3;
  tailor_runtime* runtime = nullptr;
  ASSERT_EQ(Text(tailor_runtime_create(&options, &runtime)), "OK");
  const ExecutableHandle executable = LoadSample(runtime);
  tailor_runtime_release(runtime);
  SampleCall call(1000);
  EXPECT_EQ(Text(tailor_executable_run(executable.get(), call.inputs.data(), 2, call.outputs.data(), 2)), "OK");
  call.ExpectResults();
  // The workspace has one slice of scratch per thread.
  tailor_executable_counts counts;
  tailor_executable_counts_init(&counts);
  EXPECT_EQ(Text(tailor_executable_counters(executable.get(), &counts)), "OK");
  EXPECT_EQ(counts.workspace_bytes, 4032 + 3 * kSampleScratchBytes);
}

// A host that frees what its callbacks use when `released` is called.
struct Host {
  Ledger ledger;
  int released = 0, live_then = -1;

  static void* Allocate(void* user, size_t bytes, size_t alignment) {
    return Ledger::Allocate(&static_cast<Host*>(user)->ledger, bytes, alignment);
  }
  static void Deallocate(void* user, void* data, size_t bytes) {
    Ledger::Deallocate(&static_cast<Host*>(user)->ledger, data, bytes);
  }
  static void Log(void* user, int32_t level, const char* message) {
    Ledger::Log(&static_cast<Host*>(user)->ledger, level, message);
  }
  static void Released(void* user) {
    auto& host = *static_cast<Host*>(user);
    ++host.released;
    host.live_then = host.ledger.live;
  }
  tailor_runtime_options Options() {
    tailor_runtime_options options;
    tailor_runtime_options_init(&options);
    options.allocate = Allocate;
    options.deallocate = Deallocate;
    options.log = Log;
    options.released = Released;
    options.user = this;
    return options;
  }
};

TEST(Runtime, IsReleasedAfterAllThatKeepsIt) {
  Host host;
  const tailor_runtime_options options = host.Options();
  tailor_runtime* runtime = nullptr;
  ASSERT_EQ(Text(tailor_runtime_create(&options, &runtime)), "OK");
  ExecutableHandle executable = LoadSample(runtime);
  tailor_runtime_release(runtime);
  SessionHandle session = MakeSession(executable.get());
  executable.reset();
  SampleCall call(10);
  call.outputs[0].data = nullptr;
  ASSERT_EQ(call.Run(session.get()), "OK");
  DLManagedTensor* taken = nullptr;
  ASSERT_EQ(Text(tailor_session_take_output(session.get(), 0, nullptr, &taken)), "OK");
  session.reset();
  EXPECT_EQ(host.released, 0);
  EXPECT_GT(host.ledger.live, 0);
  taken->deleter(taken);
  EXPECT_EQ(host.released, 1);
  EXPECT_EQ(host.live_then, 0);
}

TEST(Runtime, IsReleasedAtOnceIfNothingKeepsItOrItIsRefused) {
  Host host;
  tailor_runtime_options options = host.Options();
  tailor_runtime* runtime = nullptr;
  ASSERT_EQ(Text(tailor_runtime_create(&options, &runtime)), "OK");
  tailor_runtime_release(runtime);
  EXPECT_EQ(host.released, 1);
  EXPECT_EQ(Text(tailor_runtime_create(&options, nullptr)), "3: tailor_runtime_create: out is null");
  EXPECT_EQ(host.released, 2);
  options.pooled_sessions = 5000;
  EXPECT_EQ(Text(tailor_runtime_create(&options, &runtime)), "3: options.pooled_sessions is 5000, at most 4096");
  EXPECT_EQ(host.released, 3);
}

TEST(Runtime, HalfAnAllocatorIsRefused) {
  tailor_runtime_options options;
  tailor_runtime_options_init(&options);
  options.allocate = Ledger::Allocate;
  tailor_runtime* runtime = nullptr;
  EXPECT_EQ(Text(tailor_runtime_create(&options, &runtime)),
            "3: tailor_runtime_create: options sets only one of allocate and deallocate");
  EXPECT_EQ(runtime, nullptr);
}

TEST(Runtime, VersionIsTheHeaders) {
  const int number = tailor_version_number();
  EXPECT_EQ(number, TAILOR_VERSION_NUMBER);
  EXPECT_EQ(tailor_version(), std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
                                  std::to_string(number % 100));
}

TEST(Runtime, CpuFeaturesSayWhatCanAndCannotBeUsed) {
  const char* features = tailor_cpu_features();
  EXPECT_EQ(tailor_cpu_features(), features);
  EXPECT_THAT(features, testing::MatchesRegex("x86-64(-v[234])?; uses: cx8, .*; cannot use: .*"));
}

TEST(Runtime, UsableCpusAreThoseOfTheAffinityMask) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  EXPECT_GE(tailor_usable_cpus(), 1u);
  EXPECT_LE(tailor_usable_cpus(), static_cast<uint64_t>(CPU_COUNT(&set)));
}

TEST(Runtime, CountersFillWhatTheStructHasRoomFor) {
  const ExecutableHandle executable = LoadSample();
  tailor_counters counters;
  tailor_counters_init(&counters);
  tailor_counters_read(&counters);
  EXPECT_GE(counters.images_linked, 1u);
  const uint64_t linked = counters.images_linked;
  LoadSample();
  counters.struct_size = 16;
  counters.runs = 12345;
  tailor_counters_read(&counters);
  EXPECT_EQ(counters.images_linked, linked + 1);
  EXPECT_EQ(counters.runs, 12345u);
}

}  // namespace
}  // namespace tailor
