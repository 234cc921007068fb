#include "tools/tailor/interrupt.h"

#include <atomic>
#include <csignal>

#include "tools/tailor/failures.h"

namespace tailor {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

void OnSignal(int) { interrupted = true; }

void SetAction(void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() { SetAction(OnSignal, SA_RESTART | SA_RESETHAND); }
InterruptGuard::~InterruptGuard() { SetAction(SIG_DFL, 0); }
bool InterruptGuard::Interrupted() { return interrupted; }
void InterruptGuard::ThrowIfInterrupted() {
  if (interrupted) throw InterruptedError();
}

}  // namespace tailor
