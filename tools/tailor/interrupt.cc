#include "tools/tailor/interrupt.h"

#include <semaphore.h>

#include <csignal>
#include <utility>

#include "tools/handles.h"
#include "tools/tailor/failures.h"

namespace tailor {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");
sem_t wake;  // posted by the signal handler, and at the end of OnInterrupt's scope

void OnSignal(int) {
  interrupted = true;
  sem_post(&wake);
}

void SetAction(void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  sem_init(&wake, /*pshared=*/0, 0);
  SetAction(OnSignal, SA_RESTART | SA_RESETHAND);
}
InterruptGuard::~InterruptGuard() { SetAction(SIG_DFL, 0); }
bool InterruptGuard::Interrupted() { return interrupted; }
void InterruptGuard::ThrowIfInterrupted() {
  if (interrupted) throw InterruptedError();
}

void InterruptGuard::Check(tailor_status* status) {
  if (tailor_status_code(status) == TAILOR_CANCELLED && interrupted) {
    tailor_status_release(status);
    throw InterruptedError();
  }
  tailor::Check(status);
}

OnInterrupt::OnInterrupt(std::function<void()> act)
    : thread_([this, act = std::move(act)] {
        while (!interrupted && !ended_) sem_wait(&wake);
        if (!ended_) act();
      }) {}

OnInterrupt::~OnInterrupt() {
  ended_ = true;
  sem_post(&wake);
  thread_.join();
}

}  // namespace tailor
