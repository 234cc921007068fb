// Ctrl-C during work that cleans up behind itself.
#ifndef TAILOR_TOOLS_TAILOR_INTERRUPT_H_
#define TAILOR_TOOLS_TAILOR_INTERRUPT_H_

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
};

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_INTERRUPT_H_
