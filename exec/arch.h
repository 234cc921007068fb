// CPU-specific primitives of the runtime, besides cpu_features.h. A new architecture adds a header like arch_x86_64.h.
#ifndef TAILOR_EXEC_ARCH_H_
#define TAILOR_EXEC_ARCH_H_

#if defined(__x86_64__)
#include "exec/arch_x86_64.h"
#else
#error "this architecture has no header like exec/arch_x86_64.h"
#endif

#endif  // TAILOR_EXEC_ARCH_H_
