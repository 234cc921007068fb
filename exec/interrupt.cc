#include "exec/interrupt.h"

#include <algorithm>

namespace tailor {

void Interrupt::SetTimeout(int64_t nanoseconds) {
  // Far from the clock's limit, beyond which the deadline would lie in the past.
  constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24 * 365 * 100);
  timeout_ = std::min(std::chrono::nanoseconds(nanoseconds), kLongest);
  if (timeout_.count() > 0) {
    word_.fetch_or(kTimed, std::memory_order_relaxed);
  } else {
    word_.fetch_and(~kTimed, std::memory_order_relaxed);
  }
}

bool Interrupt::EndsOnRequest() {
  const int64_t word = word_.load(std::memory_order_relaxed);
  if ((word & kEnding) != 0) return true;
  int64_t found = 0;
  if ((word & kCancelled) != 0) {
    found = kEnding;
  } else if ((word & kTimed) != 0 && Clock::now() >= deadline_) {
    found = kEnding | kLate;
  }
  if (found != 0) word_.fetch_or(found, std::memory_order_relaxed);
  return found != 0;
}

Fault Interrupt::reason() const {
  const bool late = (word_.load(std::memory_order_relaxed) & kLate) != 0;
  if (!late) return {Fault::Kind::kCancelled, 0, 0, 0, 0};
  return {Fault::Kind::kDeadline, 0, 0, timeout_.count(), 0};
}

}  // namespace tailor
