// SessionPool: single-threaded sessions that an executable lends to its callers. Lock-free. Keeps at most kSlots idle
// sessions, so that up to kSlots concurrent callers allocate nothing after their first runs.
#ifndef TAILOR_EXEC_SESSION_POOL_H_
#define TAILOR_EXEC_SESSION_POOL_H_

#include <array>
#include <atomic>
#include <memory>

#include "exec/failure.h"
#include "exec/session.h"

namespace tailor {

class SessionPool {
 public:
  static constexpr size_t kSlots = 16;

  explicit SessionPool(const Executable& executable) : executable_(executable) {}
  SessionPool(const SessionPool&) = delete;
  SessionPool& operator=(const SessionPool&) = delete;
  ~SessionPool();

  // An idle session, or a new one if there is none.
  Failure Borrow(std::unique_ptr<Session>* out);
  // Makes `session` idle, or destroys it if no slot is free.
  void GiveBack(std::unique_ptr<Session> session);

 private:
  const Executable& executable_;
  std::array<std::atomic<Session*>, kSlots> slots_ = {};
};

}  // namespace tailor

#endif  // TAILOR_EXEC_SESSION_POOL_H_
