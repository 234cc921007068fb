#include "exec/thread_team.h"

#include <pthreadpool.h>

#include <thread>

#include "exec/fork.h"

namespace tailor {

ThreadTeam::ThreadTeam(size_t threads)
    : pool_(pthreadpool_create(threads)),
      threads_(threads),
      generation_(ForkGeneration()),
      crowded_(threads > std::thread::hardware_concurrency()) {}

ThreadTeam::~ThreadTeam() {
  // Destroying joins the workers; in a forked child there are none to join.
  if (generation_ == ForkGeneration()) pthreadpool_destroy(pool_);
}

bool ThreadTeam::TryRun(void (*task)(void*, size_t), void* data, size_t count, bool sleep) {
  if (generation_ != ForkGeneration() || busy_.exchange(true, std::memory_order_acquire)) return false;
  const uint32_t flags = sleep || crowded_ ? PTHREADPOOL_FLAG_YIELD_WORKERS : 0;
  pthreadpool_parallelize_1d(pool_, task, data, count, flags);
  busy_.store(false, std::memory_order_release);
  return true;
}

}  // namespace tailor
