// Compilation in a separate process, tailor-compile-worker: exhausted memory and crashes inside LLVM become errors of
// one call, the memory limit is exact, and a cancelled compilation ends at once. The worker is started by posix_spawn,
// never by plain fork: the host's threads, handlers and open files stay with the host.
#ifndef TAILOR_API_ISOLATED_ISOLATED_COMPILE_H_
#define TAILOR_API_ISOLATED_ISOLATED_COMPILE_H_

#include <string>

#include "absl/status/status.h"
#include "graph/graph.h"
#include "serialization/aligned_bytes.h"
#include "tailor/compiler.h"

namespace tailor::isolated {

// The default path of the worker (options.worker is NULL), relative to the folder of libtailor.so: where CMake installs
// it, or else ../libexec/tailor/tailor-compile-worker.
std::string InstalledWorker();

// Compiles `graph` to the same artifact bytes as CompileToBytes in this process.
//
// Errors:  those of compilation; RESOURCE_EXHAUSTED if the worker is out of memory, by options.memory_limit or in the
//          system; CANCELLED; FAILED_PRECONDITION if the worker cannot be started or has another version; INTERNAL with
//          the signal and the end of its standard error if it died.
absl::Status Compile(const Graph& graph, const tailor_compile_options& options, AlignedBytes* out);

}  // namespace tailor::isolated

#endif  // TAILOR_API_ISOLATED_ISOLATED_COMPILE_H_
