// SessionPool: sessions that an executable lends to its callers, with the runtime's threads or executor. Lock-free.
// Keeps idle sessions within PoolLimits, so that as many concurrent callers allocate nothing after their first runs.
#ifndef TAILOR_EXEC_SESSION_POOL_H_
#define TAILOR_EXEC_SESSION_POOL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "exec/failure.h"
#include "exec/runtime.h"
#include "exec/session.h"

namespace tailor {

class SessionPool {
 public:
  SessionPool(const Executable& executable, const PoolLimits& limits);
  SessionPool(const SessionPool&) = delete;
  SessionPool& operator=(const SessionPool&) = delete;
  ~SessionPool() { Clear(); }

  // An idle session, or a new one if there is none.
  Failure Borrow(std::unique_ptr<Session>* out);
  // Makes `session` idle: without its memory if that would exceed the limit in bytes. Destroys it if no slot is free.
  void GiveBack(std::unique_ptr<Session> session);
  // Destroys the idle sessions.
  void Clear();
  size_t idle() const;

 private:
  std::unique_ptr<Session> TakeFrom(std::atomic<Session*>& slot);
  bool FitBytes(Session& session);
  bool limits_bytes() const { return max_bytes_ != UINT64_MAX; }

  const Executable& executable_;
  const uint64_t max_bytes_;
  std::atomic<uint64_t> idle_bytes_{0};  // memory of idle sessions; not kept without a limit
  std::vector<std::atomic<Session*>> slots_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_SESSION_POOL_H_
