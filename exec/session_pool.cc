#include "exec/session_pool.h"

#include <utility>

namespace tailor {

SessionPool::~SessionPool() {
  for (std::atomic<Session*>& slot : slots_) delete slot.load();
}

Failure SessionPool::Borrow(std::unique_ptr<Session>* out) {
  for (std::atomic<Session*>& slot : slots_) {
    if (slot.load(std::memory_order_relaxed) == nullptr) continue;
    if (Session* session = slot.exchange(nullptr, std::memory_order_acquire)) {
      out->reset(session);
      return {};
    }
  }
  return Session::Create(executable_, {}, out);
}

void SessionPool::GiveBack(std::unique_ptr<Session> session) {
  for (std::atomic<Session*>& slot : slots_) {
    Session* empty = nullptr;
    if (slot.compare_exchange_strong(empty, session.get(), std::memory_order_release, std::memory_order_relaxed)) {
      (void)session.release();
      return;
    }
  }
}

}  // namespace tailor
