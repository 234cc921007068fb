#include "exec/counters.h"

#include "exec/fork.h"

namespace tailor {
namespace {

std::atomic<uint64_t> images_linked{0};
std::atomic<uint64_t> workspace_growths{0};

// BookkeepingMutex guards these and the links of every RunCounter.
RunCounter* first = nullptr;
uint64_t runs_of_the_gone = 0;

}  // namespace

void CountImageLinked() { images_linked.fetch_add(1, std::memory_order_relaxed); }
void CountWorkspaceGrowth() { workspace_growths.fetch_add(1, std::memory_order_relaxed); }

RunCounter::RunCounter() {
  const std::lock_guard lock(BookkeepingMutex());
  next_ = first;
  if (first != nullptr) first->previous_ = this;
  first = this;
}

RunCounter::~RunCounter() {
  const std::lock_guard lock(BookkeepingMutex());
  runs_of_the_gone += runs_.load(std::memory_order_relaxed);
  (previous_ != nullptr ? previous_->next_ : first) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

Counters ReadCounters() {
  const std::lock_guard lock(BookkeepingMutex());
  Counters counters{images_linked.load(), workspace_growths.load(), runs_of_the_gone};
  for (const RunCounter* c = first; c != nullptr; c = c->next_) {
    counters.runs += c->runs_.load(std::memory_order_relaxed);
  }
  return counters;
}

}  // namespace tailor
