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

  // All that a worker needs of a region, and how it says that it is in it: one cache line, which goes to the worker
  // when the region opens and comes back when the caller shuts it. No other line moves while workers spin.
  struct alignas(64) Region {
    // The round's number in kRound, whether more workers may enter, and how many are inside. Numbers repeat: a worker
    // that gets no CPU for 65,536 rounds misses one.
    std::atomic<uint32_t> state{0};
    std::atomic<bool> sleep{false}, stop{false};
    // Written while the gate is shut and nobody inside.
    Task task = nullptr;
    void* data = nullptr;
    size_t ways = 0;
  };
  static constexpr uint32_t kInside = 0x7fff, kOpen = 0x8000, kNextRound = 0x10000, kRound = 0xffff0000;
  static_assert(kMaxThreads <= kInside);

  // Workers that have given up spinning. The caller rings for them; the line stays in all caches while there are none.
  struct alignas(64) Sleepers {
    std::atomic<uint32_t> count{0}, bell{0};
  };

  void Start();
  void Serve(size_t number);
  void OpenRound();
  uint32_t AwaitRound(uint32_t seen);
  void SleepUntilAfter(uint32_t seen);
  bool Enter(uint32_t state);
  void Leave();
  void ShutGate();

  std::vector<Worker> workers_;
  size_t started_ = 0;
  const uint64_t generation_;  // ForkGeneration when made
  const bool crowded_;         // fewer CPUs than threads
  std::atomic<bool> busy_{false};
  Region region_;
  Sleepers sleepers_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_THREAD_TEAM_H_
