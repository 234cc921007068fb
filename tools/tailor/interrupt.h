// Ctrl-C during work that cleans up behind itself.
#ifndef TAILOR_TOOLS_TAILOR_INTERRUPT_H_
#define TAILOR_TOOLS_TAILOR_INTERRUPT_H_

#include <atomic>
#include <functional>
#include <thread>

#include "tailor/runtime.h"

namespace tailor {

// Scope guard, one at a time: within the scope the first SIGINT or SIGTERM only sets a flag; a second one ends the
// process. The destructor restores the signals' default effects.
class InterruptGuard {
 public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  ~InterruptGuard();

  static bool Interrupted();
  static void ThrowIfInterrupted();  // InterruptedError
  // tailor::Check, but InterruptedError for CANCELLED after the signal.
  static void Check(tailor_status* status);
};

// Scope guard within an InterruptGuard, one at a time: calls `act` on a thread of its own when the signal has come.
class OnInterrupt {
 public:
  explicit OnInterrupt(std::function<void()> act);
  OnInterrupt(const OnInterrupt&) = delete;
  ~OnInterrupt();  // `act` has returned, or is not called

 private:
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_INTERRUPT_H_
