// Counters of executables and of the process: for monitoring, and for tests that nothing grows or is compiled again.
// Sessions count in memory of their own, without locked instructions; readers add up.
#ifndef TAILOR_EXEC_COUNTERS_H_
#define TAILOR_EXEC_COUNTERS_H_

#include <atomic>
#include <cstdint>

#include "exec/memory.h"

namespace tailor {

struct Counters {
  uint64_t images_linked = 0;
  uint64_t workspace_growths = 0;
  uint64_t runs = 0;
};

// Totals of the process. Thread-safe. The counts of concurrent runs may lag by one.
Counters ReadCounters();

void CountImageLinked();
void CountWorkspaceGrowth();

// Sums over an executable's sessions, those that ended included.
struct ExecutableCounts {
  uint64_t runs = 0;  // begun, or refused for their arguments
  uint64_t failed_runs = 0;
  uint64_t cancelled_runs = 0;
  uint64_t runs_in_progress = 0;
  uint64_t sessions = 0;  // that exist
  uint64_t workspace_bytes = 0;
  uint64_t workspace_growths = 0;
  uint64_t shape_cache_misses = 0;
};

// A member of a list that BookkeepingMutex guards.
template <typename Node>
struct CounterLinks {
  Node* previous = nullptr;
  Node* next = nullptr;
};

class SessionCounters;

// Owned by an executable; outlives its sessions.
class ExecutableCounters : private CounterLinks<ExecutableCounters> {
 public:
  ExecutableCounters();
  ExecutableCounters(const ExecutableCounters&) = delete;
  ExecutableCounters& operator=(const ExecutableCounters&) = delete;
  ~ExecutableCounters();

  // Thread-safe. The counts of concurrent runs may lag by one.
  ExecutableCounts Read() const;
  MemoryCounters& memory() { return memory_; }

 private:
  friend class SessionCounters;
  friend struct CounterLists;
  ExecutableCounts Sum() const;

  // BookkeepingMutex guards both.
  SessionCounters* first_ = nullptr;
  ExecutableCounts ended_;  // sums over sessions that ended
  MemoryCounters memory_;
};

// Written by the session's thread, read by any thread.
class SessionCounters : private CounterLinks<SessionCounters> {
 public:
  explicit SessionCounters(ExecutableCounters& executable);
  SessionCounters(const SessionCounters&) = delete;
  SessionCounters& operator=(const SessionCounters&) = delete;
  ~SessionCounters();

  void BeginRun() { Store(&runs_, (Load(runs_) + 2) | kRunning); }
  void EndRun() { Store(&runs_, Load(runs_) & ~kRunning); }
  // A run whose arguments were refused.
  void AddRefusedRun() {
    Store(&runs_, Load(runs_) + 2);
    AddFailedRun();
  }
  void AddFailedRun() { Store(&failed_, Load(failed_) + 1); }
  void AddCancelledRun() { Store(&cancelled_, Load(cancelled_) + 1); }
  void AddShapeCacheMiss() { Store(&misses_, Load(misses_) + 1); }

 private:
  friend class ExecutableCounters;
  friend struct CounterLists;
  using Word = std::atomic<uint64_t>;
  static constexpr uint64_t kRunning = 1;
  static uint64_t Load(const Word& word) { return word.load(std::memory_order_relaxed); }
  static void Store(Word* word, uint64_t value) { word->store(value, std::memory_order_relaxed); }
  void AddTo(ExecutableCounts* counts) const;

  Word runs_{0};  // number of runs times 2, plus kRunning during a run
  Word failed_{0}, cancelled_{0}, misses_{0};
  ExecutableCounters& executable_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_COUNTERS_H_
