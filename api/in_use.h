// Exclusive use of handles: a call on a handle in use is refused, and a handle that is released during a call is freed
// when that call ends.
#ifndef TAILOR_API_IN_USE_H_
#define TAILOR_API_IN_USE_H_

#include <atomic>
#include <cstdint>
#include <cstdio>

#include "api/handle.h"

namespace tailor {

// The users of a handle: one writer, or readers.
class InUse {
 public:
  bool TryWrite() {
    uint32_t free = 0;
    return state_.compare_exchange_strong(free, kWriter, std::memory_order_acquire, std::memory_order_relaxed);
  }
  // Returns whether the caller, now the only owner, must free the handle. After false the handle must not be touched.
  // Uses a store instead of an exchange, because every run pays for it. A release by another thread between load and
  // store is lost, and the handle leaks.
  bool EndWrite() {
    if (state_.load(std::memory_order_acquire) != kWriter) return true;
    state_.store(0, std::memory_order_release);
    return false;
  }

  bool TryRead() {
    uint32_t state = state_.load(std::memory_order_relaxed);
    while ((state & (kWriter | kReleased)) == 0) {
      if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }
  // As EndWrite.
  bool EndRead() { return state_.fetch_sub(1, std::memory_order_acq_rel) == (kReleased | 1); }

  // Returns whether the caller must free the handle; otherwise the last call in it does, or it was released before.
  bool Release() { return state_.fetch_or(kReleased, std::memory_order_acq_rel) == 0; }

  bool released() const { return (state_.load(std::memory_order_relaxed) & kReleased) != 0; }

 private:
  static constexpr uint32_t kWriter = 1u << 31, kReleased = 1u << 30;  // lower bits: number of readers
  std::atomic<uint32_t> state_{0};
};

// Holds a handle during its lifetime; held() is false if the handle is in use. Handle has a member `in_use` and a
// function Free.
template <typename Handle>
class Writer {
 public:
  explicit Writer(Handle& handle) : handle_(handle), held_(handle.in_use.TryWrite()) {}
  Writer(const Writer&) = delete;
  ~Writer() {
    if (held_ && handle_.in_use.EndWrite()) Handle::Free(&handle_);
  }
  bool held() const { return held_; }

 private:
  Handle& handle_;
  const bool held_;
};

template <typename Handle>
class Reader {
 public:
  explicit Reader(const Handle& handle) : handle_(const_cast<Handle&>(handle)), held_(handle_.in_use.TryRead()) {}
  Reader(const Reader&) = delete;
  ~Reader() {
    if (held_ && handle_.in_use.EndRead()) Handle::Free(&handle_);
  }
  bool held() const { return held_; }

 private:
  Handle& handle_;
  const bool held_;
};

// "tailor_session_run: the session is in use by another call; a session runs one call at a time". `rule` is the text
// after the semicolon.
inline tailor_status* HandleInUse(const char* function, const char* handle, const InUse& in_use, const char* rule) {
  char message[256];
  if (in_use.released()) {
    std::snprintf(message, sizeof(message), "%s: the %s is released", function, handle);
  } else {
    std::snprintf(message, sizeof(message), "%s: the %s is in use by another call; %s", function, handle, rule);
  }
  return tailor_status_create(TAILOR_FAILED_PRECONDITION, message, SIZE_MAX, "", 0);
}

}  // namespace tailor

#endif  // TAILOR_API_IN_USE_H_
