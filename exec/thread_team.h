// ThreadTeam: worker threads that several sessions share, over pthreadpool. Whoever comes while it is busy, or in
// a forked child, is told so and works alone.
#ifndef TAILOR_EXEC_THREAD_TEAM_H_
#define TAILOR_EXEC_THREAD_TEAM_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

struct pthreadpool;

namespace tailor {

inline constexpr size_t kMaxThreads = 4096;

class ThreadTeam {
 public:
  // `threads` counts the caller's; from 2 to kMaxThreads.
  explicit ThreadTeam(size_t threads);
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  ~ThreadTeam();

  bool ok() const { return pool_ != nullptr; }
  size_t threads() const { return threads_; }
  uint64_t generation() const { return generation_; }

  // Calls task(data, i) once for each i in [0, count) and returns true, or false having called nothing. With
  // `sleep`, or where there are fewer CPUs than threads, the workers block afterwards rather than spin for some
  // milliseconds.
  bool TryRun(void (*task)(void* data, size_t index), void* data, size_t count, bool sleep);

 private:
  pthreadpool* pool_;
  const size_t threads_;
  const uint64_t generation_;  // ForkGeneration when made
  const bool crowded_;         // fewer CPUs than threads
  std::atomic<bool> busy_{false};
};

}  // namespace tailor

#endif  // TAILOR_EXEC_THREAD_TEAM_H_
