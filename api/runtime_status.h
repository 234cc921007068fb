// The one place that converts the runtime's failures to C statuses.
#ifndef TAILOR_API_RUNTIME_STATUS_H_
#define TAILOR_API_RUNTIME_STATUS_H_

#include <exception>
#include <new>
#include <stdexcept>

#include "exec/failure.h"
#include "tailor/runtime.h"

namespace tailor {

// NULL for success.
tailor_status* ToStatus(const Failure& failure);

// The static status for exhausted memory.
tailor_status* OutOfMemory();

// Calls `body`, which returns a Failure; no exception passes.
template <typename Body>
tailor_status* Guarded(Body body) noexcept {
  try {
    return ToStatus(body());
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  } catch (const std::length_error&) {  // a container exceeded its maximum size
    return OutOfMemory();
  } catch (...) {
    return ToStatus({Code::kInternal, "unexpected exception", ""});
  }
}

}  // namespace tailor

#endif  // TAILOR_API_RUNTIME_STATUS_H_
