#ifndef TAILOR_EXEC_RELEASE_CALLBACK_H_
#define TAILOR_EXEC_RELEASE_CALLBACK_H_

#include <utility>

namespace tailor {

// Calls a host's release callback once, when the last owner is destroyed.
class ReleaseCallback {
 public:
  ReleaseCallback() = default;
  ReleaseCallback(void (*released)(void* user), void* user) : released_(released), user_(user) {}
  ReleaseCallback(ReleaseCallback&& other) noexcept { *this = std::move(other); }
  ReleaseCallback& operator=(ReleaseCallback&& other) noexcept {
    std::swap(released_, other.released_);
    std::swap(user_, other.user_);
    return *this;
  }
  ~ReleaseCallback() {
    if (released_ != nullptr) released_(user_);
  }

 private:
  void (*released_)(void* user) = nullptr;
  void* user_ = nullptr;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_RELEASE_CALLBACK_H_
