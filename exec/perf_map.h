// Names of generated functions for Linux's perf: a perf map, one line per function in /tmp/perf-<process>.map.
#ifndef TAILOR_EXEC_PERF_MAP_H_
#define TAILOR_EXEC_PERF_MAP_H_

#include <cstdint>
#include <string>

#include "codegen/contract/program.h"
#include "exec/image.h"

namespace tailor {

// The lines of a variant that is mapped at `base`: "7f10a0 380 encoder: g3_softmax v1".
std::string PerfMapLines(const Program& program, const Variant& variant, uintptr_t base);

// Appends them to this process's map. Functions that were unmapped stay listed. INTERNAL with the system's reason.
Failure AppendPerfMap(const std::string& lines);

}  // namespace tailor

#endif  // TAILOR_EXEC_PERF_MAP_H_
