#include "exec/thread_team.h"

#include <immintrin.h>
#include <signal.h>

#include <thread>

#include "exec/fork.h"

namespace tailor {
namespace {

// Spins before a thread blocks: workers for the next region, the caller for the workers that are still inside.
constexpr int kIdleSpins = 1 << 15, kFinishSpins = 1 << 11;

// While it lives, threads that are started get no signals: those are the host's.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

ThreadTeam::ThreadTeam(size_t threads)
    : workers_(threads - 1), generation_(ForkGeneration()), crowded_(threads > std::thread::hardware_concurrency()) {
  Start();
}

void ThreadTeam::Start() {
  const SignalsBlocked blocked;
  const auto serve = [](void* data) -> void* {
    const auto* worker = static_cast<Worker*>(data);
    worker->team->Serve(worker->number);
    return nullptr;
  };
  for (Worker& worker : workers_) {
    worker = {this, started_ + 1, {}};
    if (pthread_create(&worker.thread, nullptr, serve, &worker) != 0) return;
    ++started_;
  }
}

ThreadTeam::~ThreadTeam() {
  if (generation_ != ForkGeneration()) return;  // a forked child has no workers to join
  stop_ = true;
  ++round_;
  round_.notify_all();
  for (size_t i = 0; i < started_; ++i) pthread_join(workers_[i].thread, nullptr);
}

bool ThreadTeam::TryRun(Task task, void* data, size_t ways, bool sleep) {
  if (generation_ != ForkGeneration() || busy_.exchange(true, std::memory_order_acquire)) return false;
  task_ = task;
  data_ = data;
  ways_ = ways;
  sleep_.store(sleep || crowded_, std::memory_order_relaxed);
  gate_.store(kOpen, std::memory_order_release);
  ++round_;
  round_.notify_all();  // no system call where nobody sleeps
  task(data, 0);
  ShutGate();
  busy_.store(false, std::memory_order_release);
  return true;
}

// Lets nobody in any more, and waits for those inside.
void ThreadTeam::ShutGate() {
  uint32_t inside = gate_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  for (int spins = 0; inside != 0; inside = gate_.load(std::memory_order_acquire)) {
    if (spins++ < kFinishSpins) {
      _mm_pause();
    } else {
      gate_.wait(inside);
    }
  }
}

void ThreadTeam::Serve(size_t number) {
  for (uint32_t seen = 0;;) {
    seen = AwaitRound(seen);
    if (stop_) return;
    if (!Enter()) continue;
    if (number < ways_) task_(data_, number);
    Leave();
  }
}

// The number of the round after `seen`.
uint32_t ThreadTeam::AwaitRound(uint32_t seen) {
  for (int spins = 0; spins < kIdleSpins && !sleep_.load(std::memory_order_relaxed); ++spins) {
    if (const uint32_t round = round_.load(std::memory_order_acquire); round != seen) return round;
    _mm_pause();
  }
  round_.wait(seen);
  return round_;
}

bool ThreadTeam::Enter() {
  uint32_t gate = gate_.load(std::memory_order_relaxed);
  while ((gate & kOpen) != 0) {
    if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire, std::memory_order_relaxed)) return true;
  }
  return false;
}

// The last one out of a shut gate wakes the caller.
void ThreadTeam::Leave() {
  if (gate_.fetch_sub(1, std::memory_order_acq_rel) == 1) gate_.notify_one();
}

}  // namespace tailor
