#include "exec/notifications.h"

#include <algorithm>
#include <atomic>

namespace tailor {

// Has two references; the device drops one when it calls. A device that fails never does, so what it may still access
// stays allocated.
struct Notifications::Pending {
  Ended ended;
  void* user;
  std::atomic<bool> called{false};
  std::atomic<int> references{2};

  void Call() {
    if (!called.exchange(true)) ended(user);
  }
  void Drop() {
    if (--references == 0) delete this;
  }
};

bool Notifications::Add(DeviceStream& stream, Ended ended, void* user) {
  ForgetCalled();
  pending_.reserve(pending_.size() + 1);
  auto* pending = new Pending{ended, user};
  const auto call = [](void* data) {
    auto* told = static_cast<Pending*>(data);
    told->Call();
    told->Drop();
  };
  if (!stream.CallWhenDone(call, pending)) {
    delete pending;
    return false;
  }
  pending_.push_back(pending);
  return true;
}

void Notifications::CallPending() {
  for (Pending* pending : pending_) {
    pending->Call();
    pending->Drop();
  }
  pending_.clear();
}

void Notifications::ForgetCalled() {
  const auto called = [](Pending* pending) {
    if (!pending->called) return false;
    pending->Drop();
    return true;
  };
  pending_.erase(std::remove_if(pending_.begin(), pending_.end(), called), pending_.end());
}

}  // namespace tailor
