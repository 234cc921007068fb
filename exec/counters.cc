#include "exec/counters.h"

#include "exec/fork.h"

namespace tailor {

// Access to the links of counters.
struct CounterLists {
  template <typename Node>
  static void Add(Node* node, Node** first) {
    node->next = *first;
    if (*first != nullptr) (*first)->previous = node;
    *first = node;
  }
  template <typename Node>
  static void Remove(Node* node, Node** first) {
    (node->previous != nullptr ? node->previous->next : *first) = node->next;
    if (node->next != nullptr) node->next->previous = node->previous;
  }
  static uint64_t Runs(const ExecutableCounters* first) {
    uint64_t runs = 0;
    for (; first != nullptr; first = first->next) runs += first->Sum().runs;
    return runs;
  }
};

namespace {

std::atomic<uint64_t> images_linked{0};
std::atomic<uint64_t> workspace_growths{0};

// BookkeepingMutex guards both.
ExecutableCounters* first_executable = nullptr;
uint64_t runs_of_the_gone = 0;

}  // namespace

void CountImageLinked() { images_linked.fetch_add(1, std::memory_order_relaxed); }
void CountWorkspaceGrowth() { workspace_growths.fetch_add(1, std::memory_order_relaxed); }

Counters ReadCounters() {
  const std::lock_guard lock(BookkeepingMutex());
  return {images_linked.load(), workspace_growths.load(), runs_of_the_gone + CounterLists::Runs(first_executable)};
}

ExecutableCounters::ExecutableCounters() {
  const std::lock_guard lock(BookkeepingMutex());
  CounterLists::Add(this, &first_executable);
}

ExecutableCounters::~ExecutableCounters() {
  const std::lock_guard lock(BookkeepingMutex());
  runs_of_the_gone += Sum().runs;
  CounterLists::Remove(this, &first_executable);
}

ExecutableCounts ExecutableCounters::Read() const {
  const std::lock_guard lock(BookkeepingMutex());
  return Sum();
}

// Requires the lock.
ExecutableCounts ExecutableCounters::Sum() const {
  ExecutableCounts counts = ended_;
  for (const SessionCounters* session = first_; session != nullptr; session = session->next) {
    session->AddTo(&counts);
    ++counts.sessions;
  }
  counts.workspace_bytes = memory_.bytes.load(std::memory_order_relaxed);
  counts.workspace_growths = memory_.growths.load(std::memory_order_relaxed);
  return counts;
}

SessionCounters::SessionCounters(ExecutableCounters& executable) : executable_(executable) {
  const std::lock_guard lock(BookkeepingMutex());
  CounterLists::Add(this, &executable_.first_);
}

SessionCounters::~SessionCounters() {
  const std::lock_guard lock(BookkeepingMutex());
  AddTo(&executable_.ended_);
  CounterLists::Remove(this, &executable_.first_);
}

void SessionCounters::AddTo(ExecutableCounts* counts) const {
  const uint64_t runs = Load(runs_);
  counts->runs += runs / 2;
  counts->runs_in_progress += runs & kRunning;
  counts->failed_runs += Load(failed_);
  counts->cancelled_runs += Load(cancelled_);
  counts->shape_cache_misses += Load(misses_);
}

}  // namespace tailor
