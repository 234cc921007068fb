// The context of kernels that are called without a session.
#ifndef TAILOR_TOOLS_TUNE_IDLE_CONTEXT_H_
#define TAILOR_TOOLS_TUNE_IDLE_CONTEXT_H_

#include <cstdint>

#include "exec/host_abi.h"

namespace tailor::tune {

// The argument for KernelParameter::kContext, the last slot of kernels that have it: a run that nobody interrupts.
inline int64_t IdleContext() {
  static RtContext context = {};
  return reinterpret_cast<int64_t>(&context);
}

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_IDLE_CONTEXT_H_
