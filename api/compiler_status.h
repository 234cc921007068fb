// The compiler library's boundary: the one place where absl::Status, Failure and exceptions become a
// tailor_status.
#ifndef TAILOR_API_COMPILER_STATUS_H_
#define TAILOR_API_COMPILER_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "exec/failure.h"
#include "tailor/runtime.h"

namespace tailor {

// NULL where `status` is ok. The node's name is the one that graph/status_node.h keeps.
tailor_status* ToC(const absl::Status& status);
tailor_status* ToC(const Failure& failure);
inline tailor_status* ToC(tailor_status* status) { return status; }
// The same in the other direction; releases `status`.
absl::Status FromC(tailor_status* status);
// The exception being handled: RESOURCE_EXHAUSTED for std::bad_alloc and std::length_error, INTERNAL for others.
tailor_status* CurrentExceptionToC() noexcept;

// Runs `body`, which returns what ToC takes or a tailor_status*; nothing is thrown to the caller.
template <typename Body>
tailor_status* AtBoundary(Body&& body) noexcept {
  try {
    return ToC(std::forward<Body>(body)());
  } catch (...) {
    return CurrentExceptionToC();
  }
}
}  // namespace tailor

#endif  // TAILOR_API_COMPILER_STATUS_H_
