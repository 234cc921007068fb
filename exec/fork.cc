#include "exec/fork.h"

#include <pthread.h>

#include <atomic>

namespace tailor {
namespace {

std::mutex mutex;
std::atomic<uint64_t> generation{0};

void BeforeFork() { mutex.lock(); }
void InParent() { mutex.unlock(); }
void InChild() {
  generation.fetch_add(1, std::memory_order_relaxed);
  mutex.unlock();
}

// The library is never unloaded (-z nodelete), so the handlers stay valid.
[[maybe_unused]] const int registered = pthread_atfork(BeforeFork, InParent, InChild);

}  // namespace

std::mutex& BookkeepingMutex() { return mutex; }
uint64_t ForkGeneration() { return generation.load(std::memory_order_relaxed); }

}  // namespace tailor
