// System calls of the runtime: this program replaces malloc, mmap and mutex locking, to count them in all threads and
// to make them fail.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "api/dlpack.h"
#include "tests/api/runtime_fixture.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<int> mallocs{0}, frees{0}, mmaps{0}, locks{0};
thread_local int64_t mallocs_until_failure = -1;  // of this thread; negative: none fails
thread_local bool keep_failing = false;           // after the first failure

// Whether this allocation is to succeed.
bool Allow() {
  if (counting) ++mallocs;
  if (mallocs_until_failure < 0) return true;
  if (mallocs_until_failure == 0 && keep_failing) return false;
  return mallocs_until_failure-- > 0;
}

}  // namespace

#define INTERPOSED extern "C" __attribute__((visibility("default")))
extern "C" void* __libc_malloc(size_t size);
extern "C" void* __libc_calloc(size_t count, size_t size);
extern "C" void* __libc_realloc(void* data, size_t size);
extern "C" void* __libc_memalign(size_t alignment, size_t size);
extern "C" void __libc_free(void* data);

INTERPOSED void* malloc(size_t size) { return Allow() ? __libc_malloc(size) : nullptr; }
INTERPOSED void* calloc(size_t count, size_t size) { return Allow() ? __libc_calloc(count, size) : nullptr; }
INTERPOSED void* realloc(void* data, size_t size) { return Allow() ? __libc_realloc(data, size) : nullptr; }
INTERPOSED void* memalign(size_t alignment, size_t size) {
  return Allow() ? __libc_memalign(alignment, size) : nullptr;
}
INTERPOSED void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
INTERPOSED int posix_memalign(void** out, size_t alignment, size_t size) {
  void* data = memalign(alignment, size);
  if (data == nullptr) return ENOMEM;
  *out = data;
  return 0;
}
INTERPOSED void free(void* data) {
  if (counting && data != nullptr) ++frees;
  __libc_free(data);
}

INTERPOSED void* mmap(void* at, size_t size, int protection, int flags, int file, off_t offset) {
  if (counting) ++mmaps;
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, size, protection, flags, file, offset));
}

INTERPOSED int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto lock = reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  if (counting) ++locks;
  return lock(mutex);
}

namespace tailor {
namespace {

// Counts while it lives.
class Count {
 public:
  Count() {
    mallocs = frees = mmaps = locks = 0;
    counting = true;
  }
  ~Count() { counting = false; }
};

uint64_t Growths() {
  tailor_counters counters;
  tailor_counters_init(&counters);
  tailor_counters_read(&counters);
  return counters.workspace_growths + counters.images_linked;
}

TEST(Growth, TheHooksSeeTheLibrary) {
  const AlignedBytes bytes = SampleArtifact();
  tailor_executable* executable = nullptr;
  {
    const Count count;
    tailor_executable_load_memory(nullptr, bytes.data(), bytes.size(), nullptr, nullptr, nullptr, &executable);
    EXPECT_GT(mallocs, 0);
    EXPECT_GT(mmaps, 0);
    tailor_executable_describe(executable, nullptr);
    tailor_counters counters = {};
    tailor_counters_read(&counters);
    EXPECT_GT(locks, 0);
  }
  tailor_executable_release(executable);
}

// 200 shapes after the largest one: nothing is asked of the system, in any thread.
void ExpectNoGrowth(uint64_t threads, bool provided_outputs) {
  const ExecutableHandle executable = LoadSample();
  tailor_session_options options;
  tailor_session_options_init(&options);
  options.threads = threads;
  const SessionHandle session = MakeSession(executable.get(), &options);
  std::vector<std::unique_ptr<SampleCall>> calls;
  for (int64_t i = 0; i < 200; ++i) calls.push_back(std::make_unique<SampleCall>(i * 37 % 1000));
  SampleCall largest(1000);
  if (provided_outputs) {
    for (auto& call : calls) call->outputs[0].data = nullptr;
    largest.outputs[0].data = nullptr;
  }
  ASSERT_EQ(largest.Run(session.get()), "OK");
  const uint64_t growths = Growths();
  int failures = 0;
  {
    const Count count;
    for (auto& call : calls) {
      failures += tailor_session_run(session.get(), call->inputs.data(), 2, call->outputs.data(), 2) != nullptr;
    }
    EXPECT_EQ(mallocs, 0);
    EXPECT_EQ(frees, 0);
    EXPECT_EQ(mmaps, 0);
    EXPECT_TRUE(threads > 1 || locks == 0);
  }
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(Growths(), growths);
  for (auto& call : calls) EXPECT_EQ(call->total, call->want_total);
}

TEST(Growth, NoneAfterTheLargestShape) { ExpectNoGrowth(1, false); }
TEST(Growth, NoneOnThreads) { ExpectNoGrowth(3, false); }
TEST(Growth, NoneForOutputsOfTheLibrarys) { ExpectNoGrowth(1, true); }

TEST(Growth, NoneAfterReserve) {
  const ExecutableHandle executable = LoadSample();
  const SessionHandle session = MakeSession(executable.get());
  SampleCall large(1000), small(3);
  ASSERT_EQ(Text(tailor_session_reserve(session.get(), large.inputs.data(), 2)), "OK");
  const uint64_t growths = Growths();
  {
    const Count count;
    for (SampleCall* call : {&small, &large}) {
      tailor_session_bind(session.get(), call->inputs.data(), 2, call->outputs.data(), 2);
      tailor_session_run_bound(session.get());
    }
    EXPECT_EQ(mallocs, 0);
    EXPECT_EQ(mmaps, 0);
    EXPECT_EQ(locks, 0);
  }
  EXPECT_EQ(Growths(), growths);
  small.ExpectResults();
  large.ExpectResults();
}

TEST(Growth, NoneForBorrowedSessions) {
  const ExecutableHandle executable = LoadSample();
  SampleCall large(1000), small(3);
  const auto run = [&](SampleCall* call) {
    return tailor_executable_run(executable.get(), call->inputs.data(), 2, call->outputs.data(), 2) == nullptr;
  };
  ASSERT_TRUE(run(&large));
  bool ok = true;
  {
    const Count count;
    for (int i = 0; i < 100; ++i) ok = run(&small) && run(&large) && ok;
    EXPECT_EQ(mallocs, 0);
    EXPECT_EQ(mmaps, 0);
    EXPECT_EQ(locks, 0);
  }
  EXPECT_TRUE(ok);
  small.ExpectResults();
}

// Calls `attempt` with its first, second, ... allocation failing, once and then with all after it, until it needs no
// more. Every failure must be RESOURCE_EXHAUSTED. Returns the number of allocations.
template <typename Attempt>
int FailEachAllocation(Attempt attempt) {
  for (int n = 0; n < 100000; ++n) {
    mallocs_until_failure = n / 2;
    keep_failing = n % 2 == 0;
    tailor_status* status = attempt();
    mallocs_until_failure = -1;
    const int32_t code = tailor_status_code(status);
    tailor_status_release(status);
    if (code == TAILOR_OK) return n / 2;
    EXPECT_EQ(code, TAILOR_RESOURCE_EXHAUSTED) << "with allocation " << n / 2 << " failing";
  }
  return -1;
}

TEST(OutOfMemory, OfLoadingIsAStatusAndGivesTheBytesBack) {
  const AlignedBytes bytes = SampleArtifact();
  int released = 0, attempts = 0;
  tailor_executable* executable = nullptr;
  EXPECT_GT(FailEachAllocation([&] {
              ++attempts;
              return tailor_executable_load_memory(
                  nullptr, bytes.data(), bytes.size(), nullptr, [](void* user) { ++*static_cast<int*>(user); },
                  &released, &executable);
            }),
            10);
  EXPECT_EQ(released, attempts - 1);
  tailor_executable_release(executable);
  EXPECT_EQ(released, attempts);
}

TEST(OutOfMemory, OfSessionsRunsAndPlansIsAStatus) {
  const ExecutableHandle executable = LoadSample();
  tailor_session* session = nullptr;
  EXPECT_GT(FailEachAllocation([&] { return tailor_session_create(executable.get(), nullptr, &session); }), 5);
  const SessionHandle owner(session);
  SampleCall call(100);
  call.outputs[0].data = nullptr;
  EXPECT_GT(
      FailEachAllocation([&] { return tailor_session_run(session, call.inputs.data(), 2, call.outputs.data(), 2); }),
      0);
  EXPECT_EQ(call.total, call.want_total);
  EXPECT_GT(FailEachAllocation([&] {
              return tailor_executable_plan(executable.get(), call.inputs.data(), 2, call.outputs.data(), 2, nullptr);
            }),
            1);
  tailor_plan_info info;
  tailor_plan_info_init(&info);
  EXPECT_GT(FailEachAllocation([&] {
              return tailor_executable_plan(executable.get(), call.inputs.data(), 2, call.outputs.data(), 2, &info);
            }),
            2);
  EXPECT_EQ(info.versions, 2u);
  const char* json = nullptr;
  EXPECT_GT(FailEachAllocation([&] { return tailor_executable_describe(executable.get(), &json); }), 1);
  tailor_runtime* runtime = nullptr;
  EXPECT_GT(FailEachAllocation([&] { return tailor_runtime_create(nullptr, &runtime); }), 0);
  tailor_runtime_release(runtime);
}

TEST(OutOfMemory, AnOutputIsTakenOrStays) {
  const ExecutableHandle executable = LoadSample();
  const SessionHandle session = MakeSession(executable.get());
  SampleCall call(5);
  call.outputs[0].data = nullptr;
  ASSERT_EQ(call.Run(session.get()), "OK");
  DLManagedTensor* taken = nullptr;
  EXPECT_GT(FailEachAllocation([&] { return tailor_session_take_output(session.get(), 0, nullptr, &taken); }), 2);
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken->tensor.data, call.outputs[0].data);
  taken->deleter(taken);
}

TEST(OutOfMemory, TheStatusIsStatic) {
  keep_failing = true;
  mallocs_until_failure = 0;
  tailor_status* first = tailor_status_create(TAILOR_INTERNAL, "lost", 4, "", 0);
  tailor_status_release(first);
  tailor_status* second = tailor_session_run_bound(nullptr);
  mallocs_until_failure = -1;
  EXPECT_EQ(first, second);
  EXPECT_EQ(tailor_status_code(second), TAILOR_RESOURCE_EXHAUSTED);
  EXPECT_STREQ(tailor_status_message(second), "out of memory");
  tailor_status_release(second);
  EXPECT_STREQ(tailor_status_message(second), "out of memory");
}

}  // namespace
}  // namespace tailor
