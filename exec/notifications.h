// Notifications: who is to be told that the work of a stream has ended, where the device tells, but for one that fails.
// Used by one thread at a time; the device calls on threads of its own.
#ifndef TAILOR_EXEC_NOTIFICATIONS_H_
#define TAILOR_EXEC_NOTIFICATIONS_H_

#include <vector>

#include "exec/device.h"

namespace tailor {

class Notifications {
 public:
  using Ended = void (*)(void* user);

  Notifications() = default;
  Notifications(const Notifications&) = delete;
  // The work has ended.
  ~Notifications() { Settle(); }

  // Has ended(user) called once, when all work asked for in `stream` is done. False where the device fails: then it is
  // not called.
  bool Add(DeviceStream& stream, Ended ended, void* user);
  // Where all work has ended, or the device has failed: calls who was not yet.
  void Settle();

 private:
  struct Pending;
  void ForgetCalled();

  std::vector<Pending*> pending_;  // one reference to each
};

}  // namespace tailor

#endif  // TAILOR_EXEC_NOTIFICATIONS_H_
