// Process-wide counters, for tests that nothing grows or is compiled again.
#ifndef TAILOR_EXEC_COUNTERS_H_
#define TAILOR_EXEC_COUNTERS_H_

#include <atomic>
#include <cstdint>

namespace tailor {

struct Counters {
  uint64_t images_linked = 0;
  uint64_t workspace_growths = 0;
  uint64_t runs = 0;
};

// Thread-safe. The counts of concurrent runs may lag by one.
Counters ReadCounters();

void CountImageLinked();
void CountWorkspaceGrowth();

// Counts the runs of one session. Written by the session's thread without a locked instruction, read by any thread.
class RunCounter {
 public:
  RunCounter();
  RunCounter(const RunCounter&) = delete;
  RunCounter& operator=(const RunCounter&) = delete;
  ~RunCounter();
  void Add() { runs_.store(runs_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

 private:
  friend Counters ReadCounters();
  std::atomic<uint64_t> runs_{0};
  RunCounter* previous_ = nullptr;  // in the list of all live counters
  RunCounter* next_ = nullptr;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_COUNTERS_H_
