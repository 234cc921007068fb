// Notifications: callbacks for the end of a stream's work. The device makes the calls, except after a failure, when
// CallPending does. Used by one thread at a time; the device calls on its own threads.
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
  // Requires that the work has ended.
  ~Notifications() { CallPending(); }

  // Has ended(user) called once, when all work enqueued in `stream` is done. If the device fails, returns false and
  // does not call it.
  bool Add(DeviceStream& stream, Ended ended, void* user);
  // Makes all outstanding calls. Requires that all work has ended or the device has failed.
  void CallPending();

 private:
  struct Pending;
  void ForgetCalled();

  std::vector<Pending*> pending_;  // one reference each
};

}  // namespace tailor

#endif  // TAILOR_EXEC_NOTIFICATIONS_H_
