// Compiling in a process of its own, tailor-compile-worker: exhausted memory and crashes inside LLVM are errors of one
// call, a memory limit is exact, and a cancelled compilation ends at once. The worker is started by posix_spawn, never
// by fork alone: the host's threads, handlers and open files stay with the host.
#ifndef TAILOR_API_ISOLATED_ISOLATED_COMPILE_H_
#define TAILOR_API_ISOLATED_ISOLATED_COMPILE_H_

#include <string>

#include "absl/status/status.h"
#include "graph/graph.h"
#include "serialization/aligned_bytes.h"
#include "tailor/compiler.h"

namespace tailor::isolated {

// The worker's path where options.worker is NULL: ../libexec/tailor/tailor-compile-worker, from the library's folder.
std::string InstalledWorker();

// The artifact's bytes for `graph`, as CompileToBytes makes them in this process.
//
// Errors: what compiling reports; RESOURCE_EXHAUSTED where the worker has no memory, within options.memory_limit or in
//         the system; CANCELLED; FAILED_PRECONDITION where the worker cannot be started, or is another version's;
//         INTERNAL where it died, with the signal and the last of what it wrote to standard error.
absl::Status Compile(const Graph& graph, const tailor_compile_options& options, AlignedBytes* out);

}  // namespace tailor::isolated

#endif  // TAILOR_API_ISOLATED_ISOLATED_COMPILE_H_
