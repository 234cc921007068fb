// Interrupt: ends a session's run before it is complete, because another thread cancels it or its deadline has passed.
// Native code and the threads of a parallel_for poll RtContext::interrupt, which is 0 while there is no reason to ask.
// A traced session has native code ask always.
#ifndef TAILOR_EXEC_INTERRUPT_H_
#define TAILOR_EXEC_INTERRUPT_H_

#include <atomic>
#include <chrono>
#include <cstdint>

#include "exec/fault.h"

namespace tailor {

class Interrupt {
 public:
  // `word` is RtContext::interrupt of the session; it outlives this object.
  explicit Interrupt(int64_t* word) : word_(*word) {}
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // From any thread. Cancel ends the run in progress, or else the next one; Uncancel takes back a Cancel that has ended
  // no run.
  void Cancel() { word_.fetch_or(kCancelled, std::memory_order_relaxed); }
  void Uncancel() { word_.fetch_and(~kCancelled, std::memory_order_relaxed); }

  // Later runs have a deadline `nanoseconds` after their begin; 0: none. Not during a run.
  void SetTimeout(int64_t nanoseconds);

  // All later runs call RtApi::poll at each of its places. Before the first run.
  void AskAlways() { word_.fetch_or(kTraced, std::memory_order_relaxed); }

  // At the begin of a run.
  void BeginRun() {
    if (timeout_.count() > 0) [[unlikely]]
      deadline_ = Clock::now() + timeout_;
  }
  // At its end, complete or not: its Cancel is done with.
  void EndRun() {
    if (word_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      word_.fetch_and(kTimed | kTraced, std::memory_order_relaxed);
  }

  // A poll, from any thread that takes part in a run. Once true it stays true until EndRun: the run is incomplete.
  bool Ends() { return (word_.load(std::memory_order_relaxed) & ~kTraced) != 0 && EndsOnRequest(); }
  // Why a run ends.
  Fault reason() const;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int64_t kCancelled = 1;  // by another thread
  static constexpr int64_t kTimed = 2;      // runs have a deadline, which each poll compares with the clock
  static constexpr int64_t kEnding = 4;     // a poll has ended the run
  static constexpr int64_t kLate = 8;       // because its deadline had passed
  static constexpr int64_t kTraced = 16;    // native code asks, though the run may not end

  bool EndsOnRequest();

  std::atomic_ref<int64_t> word_;
  std::chrono::nanoseconds timeout_{0};
  Clock::time_point deadline_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_INTERRUPT_H_
