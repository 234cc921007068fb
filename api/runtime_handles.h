// The objects behind the runtime's opaque handles.
#ifndef TAILOR_API_RUNTIME_HANDLES_H_
#define TAILOR_API_RUNTIME_HANDLES_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "api/handle.h"
#include "api/in_use.h"
#include "exec/executable.h"
#include "exec/release_callback.h"
#include "exec/runtime.h"
#include "exec/session.h"
#include "serialization/reader.h"
#include "tailor/runtime.h"

struct tailor_runtime {
  tailor::HandleKind kind = tailor::HandleKind::kRuntime;
  std::shared_ptr<const tailor::Runtime> runtime;
};

namespace tailor {

// Reads `path` as a file name; else INVALID_ARGUMENT.
Failure ReadPath(const char* path, size_t size, std::string* out);

}  // namespace tailor

// Reference-counted by its holders and its sessions. Members are destroyed in reverse order: code, then the bytes it
// was read from, then the host's callback that these are free.
struct tailor_executable {
  tailor::HandleKind kind = tailor::HandleKind::kExecutable;
  mutable std::atomic<int64_t> references{1};
  tailor::ReleaseCallback borrowed;
  tailor::Artifact artifact;
  std::unique_ptr<const tailor::Executable> executable;
  mutable std::atomic<const std::string*> description{nullptr};  // made at first use

  ~tailor_executable() { delete description.load(); }
};

struct tailor_session {
  tailor::HandleKind kind = tailor::HandleKind::kSession;
  tailor::InUse in_use;
  const tailor_executable* executable = nullptr;  // one reference
  std::unique_ptr<tailor::Session> session;
  bool asynchronous = false;  // runs may be in progress after calls return

  static void Free(tailor_session* session);
};

namespace tailor {

// FAILED_PRECONDITION if `writer` could not hold its session.
inline tailor_status* CheckHeld(const char* function, const tailor_session* session,
                                const Writer<tailor_session>& writer) {
  if (writer.held()) [[likely]]
    return nullptr;
  return HandleInUse(function, "session", session->in_use, "a session runs one call at a time");
}

}  // namespace tailor

#endif  // TAILOR_API_RUNTIME_HANDLES_H_
