#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

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
  EXPECT_EQ(ledger.log, "0 variant x86-64 is used\n");
  SessionHandle session = MakeSession(executable.get());
  executable.reset();  // the session keeps that alive
  SampleCall call(10);
  call.outputs[0].data = nullptr;
  EXPECT_EQ(call.Run(session.get()), "OK");
  EXPECT_EQ(ledger.live, 2);
  session.reset();
  EXPECT_EQ(ledger.live, 0);
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

TEST(Runtime, VersionIsThreeNumbers) {
  EXPECT_THAT(tailor_version(), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST(Runtime, CpuFeaturesSayWhatCanAndCannotBeUsed) {
  const char* features = tailor_cpu_features();
  EXPECT_EQ(tailor_cpu_features(), features);
  EXPECT_THAT(features, testing::MatchesRegex("x86-64(-v[234])?; uses: cx8, .*; cannot use: .*"));
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
