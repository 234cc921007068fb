// ThreadTeam: worker threads shared by several sessions. Each parallel region belongs to its caller: idle workers join
// regions that have room, and the caller waits only for workers that joined, so that a worker without a CPU delays
// nobody. With several regions in progress a worker joins the one with the fewest. TryRun fails if kMaxRegions are in
// progress, and in a forked child; the caller then runs the region serially.
#ifndef TAILOR_EXEC_THREAD_TEAM_H_
#define TAILOR_EXEC_THREAD_TEAM_H_

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tailor {

inline constexpr size_t kMaxThreads = 4096;

class ThreadTeam {
 public:
  // `slot` identifies a thread in the region, `thread` in the team; both are 0 for the caller.
  using Task = void (*)(void* data, size_t slot, size_t thread);
  static constexpr size_t kMaxRegions = 64;

  // `threads` includes the caller's; from 2 to kMaxThreads.
  explicit ThreadTeam(size_t threads);
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;
  ~ThreadTeam();

  // Whether the system created all threads.
  bool ok() const { return started_ == workers_.size(); }
  size_t threads() const { return workers_.size() + 1; }
  uint64_t generation() const { return generation_; }

  // Calls task(data, 0, 0) here and, concurrently, task(data, slot, thread) on workers that join before the call here
  // returns, each with a slot of its own in [1, ways). `task` must take work until none is left: once a call has
  // returned, no more workers join. Returns true when all calls have returned, or false without calling anything. With
  // `sleep`, or with fewer CPUs than threads, the workers block afterwards instead of spinning for about 1 ms.
  // Thread-safe, also from within a task.
  bool TryRun(Task task, void* data, size_t ways, bool sleep);

 private:
  struct Worker {
    ThreadTeam* team;
    size_t number;
    pthread_t thread;
  };

  // All that a worker needs of a region, and its gate: one cache line. It moves to a worker when the region opens and
  // back to the caller when the gate shuts.
  struct alignas(64) Region {
    // Bits: number of free slots (kRoom), whether the gate is open (kOpen), number of workers inside (kInside). The
    // free slots are 1 to kRoom's value. Workers join while the gate is open and slots are free.
    std::atomic<uint32_t> state{0};
    // Written only while the gate is shut and nobody is inside.
    Task task = nullptr;
    void* data = nullptr;
    bool sleep = false;
  };
  static constexpr uint32_t kInside = 0x7fff, kOpen = 0x8000, kOneSlot = 0x10000, kRoom = 0xffff0000;
  static_assert(kMaxThreads <= kInside);

  // What workers look at besides the first region. Nothing here changes while one caller's regions follow each other
  // and workers spin, so that the line stays in all caches.
  struct alignas(64) Notices {
    // Bit i: region i is in use, for i > 0. Bit 0 (kStop): the team ends.
    std::atomic<uint64_t> bits{0};
    // Workers that block, and the word on which they do; callers ring it for them.
    std::atomic<uint32_t> sleepers{0}, bell{0};
  };
  static constexpr uint64_t kStop = 1;

  void Start();
  void WorkerLoop(size_t number);
  Region* Claim();
  Region* ClaimFurther();
  void Release(Region* region);
  void Open(Region* region, size_t room);
  void Close(Region* region);
  void Wake(size_t room, uint32_t sleepers, bool alone);
  Region* AwaitSlot(size_t last, bool sleep, size_t* slot);
  Region* Choose(uint64_t bits, size_t last);
  void SleepUntilRung();
  bool AnyHasRoom() const;
  static bool HasRoom(uint32_t state) { return (state & kOpen) != 0 && (state & kRoom) != 0; }
  static size_t Enter(Region* region);
  static void Leave(Region* region, size_t slot);

  std::vector<Worker> workers_;
  size_t started_ = 0;
  const uint64_t generation_;              // ForkGeneration when made
  const bool crowded_;                     // fewer CPUs than threads
  std::atomic<bool> first_in_use_{false};  // regions_[0]; the others in notices_
  Notices notices_;
  std::array<Region, kMaxRegions> regions_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_THREAD_TEAM_H_
