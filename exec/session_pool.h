// SessionPool: the single-threaded sessions that an executable lends to its callers. Lock-free; at most kSlots
// rest here, so that as many concurrent callers allocate nothing once they have run.
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

  // A resting session, or a new one where all are out.
  Failure Borrow(std::unique_ptr<Session>* out);
  // Lets `session` rest, or ends it where there is no free slot.
  void GiveBack(std::unique_ptr<Session> session);

 private:
  const Executable& executable_;
  std::array<std::atomic<Session*>, kSlots> slots_ = {};
};

}  // namespace tailor

#endif  // TAILOR_EXEC_SESSION_POOL_H_
