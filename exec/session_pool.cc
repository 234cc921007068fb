#include "exec/session_pool.h"

#include <utility>

namespace tailor {

SessionPool::SessionPool(const Executable& executable, const PoolLimits& limits)
    : executable_(executable), max_bytes_(limits.bytes), slots_(limits.sessions) {}

// The slot's session, which is no longer idle, or null.
std::unique_ptr<Session> SessionPool::TakeFrom(std::atomic<Session*>& slot) {
  if (slot.load(std::memory_order_relaxed) == nullptr) return nullptr;
  std::unique_ptr<Session> session(slot.exchange(nullptr, std::memory_order_acquire));
  if (session != nullptr && limits_bytes()) {
    idle_bytes_.fetch_sub(session->memory_bytes(), std::memory_order_relaxed);
  }
  return session;
}

Failure SessionPool::Borrow(std::unique_ptr<Session>* out) {
  for (std::atomic<Session*>& slot : slots_) {
    if (std::unique_ptr<Session> session = TakeFrom(slot)) {
      *out = std::move(session);
      return {};
    }
  }
  return Session::Create(executable_, {}, out);
}

// Adds the session's memory to that of idle sessions, if necessary after trimming it. False if it cannot be trimmed.
bool SessionPool::FitBytes(Session& session) {
  const uint64_t bytes = session.memory_bytes();
  if (idle_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= max_bytes_) return true;
  idle_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  return session.Trim().ok();
}

void SessionPool::GiveBack(std::unique_ptr<Session> session) {
  if (limits_bytes() && !FitBytes(*session)) return;
  for (std::atomic<Session*>& slot : slots_) {
    Session* empty = nullptr;
    if (slot.compare_exchange_strong(empty, session.get(), std::memory_order_release, std::memory_order_relaxed)) {
      (void)session.release();
      return;
    }
  }
  if (limits_bytes()) idle_bytes_.fetch_sub(session->memory_bytes(), std::memory_order_relaxed);
}

void SessionPool::Clear() {
  for (std::atomic<Session*>& slot : slots_) TakeFrom(slot).reset();
}

size_t SessionPool::idle() const {
  size_t idle = 0;
  for (const std::atomic<Session*>& slot : slots_) idle += slot.load(std::memory_order_relaxed) != nullptr;
  return idle;
}

}  // namespace tailor
