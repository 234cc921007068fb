// ThreadTeam: worker threads that several sessions share. A region belongs to the caller: workers join in while it
// is under way, and only those that did are waited for, so that a worker that gets no CPU delays nobody. Whoever
// comes while the team is busy, or in a forked child, is told so and works alone.
#ifndef TAILOR_EXEC_THREAD_TEAM_H_
#define TAILOR_EXEC_THREAD_TEAM_H_

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tailor {

inline constexpr size_t kMaxThreads = 4096;

class ThreadTeam {
 public:
  using Task = void (*)(void* data, size_t worker);

  // `threads` counts the caller's; from 2 to kMaxThreads.
  explicit ThreadTeam(size_t threads);
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  ~ThreadTeam();

  // Whether the system gave all threads.
  bool ok() const { return started_ == workers_.size(); }
  size_t threads() const { return workers_.size() + 1; }
  uint64_t generation() const { return generation_; }

  // Calls task(data, 0) here and, at the same time, task(data, i) on each worker i in [1, ways) that comes before the
  // call here returns; a worker may come twice, one call after the other. Returns true when all calls have returned,
  // or false having called nothing. `task` takes its share of the work until none is left. With `sleep`, or where
  // there are fewer CPUs than threads, the workers block afterwards rather than spin for about a millisecond.
  bool TryRun(Task task, void* data, size_t ways, bool sleep);

 private:
  struct Worker {
    ThreadTeam* team;
    size_t number;
    pthread_t thread;
  };
  static constexpr uint32_t kOpen = 1u << 31;

  void Start();
  void Serve(size_t number);
  uint32_t AwaitRound(uint32_t seen);
  bool Enter();
  void Leave();
  void ShutGate();

  std::vector<Worker> workers_;
  size_t started_ = 0;
  const uint64_t generation_;  // ForkGeneration when made
  const bool crowded_;         // fewer CPUs than threads
  std::atomic<bool> busy_{false};

  // The region; written while nobody is inside the gate.
  Task task_ = nullptr;
  void* data_ = nullptr;
  size_t ways_ = 0;

  std::atomic<bool> sleep_{false};
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<uint32_t> round_{0};  // of the region; workers wait for it to change
  alignas(64) std::atomic<uint32_t> gate_{0};   // workers inside, and kOpen while more may enter
};

}  // namespace tailor

#endif  // TAILOR_EXEC_THREAD_TEAM_H_
