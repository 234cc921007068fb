// ThreadTeam: worker threads shared by several sessions. A parallel region belongs to its caller: workers join while it
// is open, and the caller waits only for workers that joined, so that a worker without a CPU delays nobody. TryRun
// fails while the team is busy, and in a forked child; the caller then runs the region serially.
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

  // `threads` includes the caller's; from 2 to kMaxThreads.
  explicit ThreadTeam(size_t threads);
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  ~ThreadTeam();

  // Whether the system created all threads.
  bool ok() const { return started_ == workers_.size(); }
  size_t threads() const { return workers_.size() + 1; }
  uint64_t generation() const { return generation_; }

  // Calls task(data, 0) here and, concurrently, task(data, i) on each worker i in [1, ways) that joins before the call
  // here returns; a worker may join twice, in sequence. `task` must take work until none is left. Returns true when all
  // calls have returned, or false without calling anything. With `sleep`, or with fewer CPUs than threads, the workers
  // block afterwards instead of spinning for about 1 ms.
  bool TryRun(Task task, void* data, size_t ways, bool sleep);

 private:
  struct Worker {
    ThreadTeam* team;
    size_t number;
    pthread_t thread;
  };

  // All that a worker needs of a region, and its gate: one cache line. It moves to a worker when the region opens and
  // back to the caller when the gate shuts; no other line moves while workers spin.
  struct alignas(64) Region {
    // Bits: round number (kRound), whether workers may enter (kOpen), number of workers inside (kInside). Round numbers
    // repeat: a worker that gets no CPU for exactly 65,536 rounds misses one.
    std::atomic<uint32_t> state{0};
    std::atomic<bool> sleep{false}, stop{false};
    // Written only while the gate is shut and nobody is inside.
    Task task = nullptr;
    void* data = nullptr;
    size_t ways = 0;
  };
  static constexpr uint32_t kInside = 0x7fff, kOpen = 0x8000, kNextRound = 0x10000, kRound = 0xffff0000;
  static_assert(kMaxThreads <= kInside);

  // Workers that block instead of spinning. The caller rings the bell for them; while there are none, the line stays in
  // all caches.
  struct alignas(64) Sleepers {
    std::atomic<uint32_t> count{0}, bell{0};
  };

  void Start();
  void WorkerLoop(size_t number);
  void OpenRegion();
  uint32_t AwaitRound(uint32_t seen);
  void SleepUntilAfter(uint32_t seen);
  bool Enter(uint32_t state);
  void Leave();
  void CloseRegion();

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
