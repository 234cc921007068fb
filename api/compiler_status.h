// The compiler library's boundary: the one place that converts absl::Status, Failure and exceptions to tailor_status.
#ifndef TAILOR_API_COMPILER_STATUS_H_
#define TAILOR_API_COMPILER_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "exec/failure.h"
#include "tailor/runtime.h"

namespace tailor {

// NULL if `status` is ok. The node's name is that of graph/status_node.h.
tailor_status* ToC(const absl::Status& status);
tailor_status* ToC(const Failure& failure);
inline tailor_status* ToC(tailor_status* status) { return status; }
// The inverse conversion; releases `status`.
absl::Status FromC(tailor_status* status);
// The current exception: RESOURCE_EXHAUSTED for std::bad_alloc and std::length_error, INTERNAL for others.
tailor_status* CurrentExceptionToC() noexcept;

// Runs `body`, which returns an argument of ToC or a tailor_status*; throws nothing to the caller.
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
