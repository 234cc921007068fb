// C handles that release themselves, and statuses as exceptions.
#ifndef TAILOR_TOOLS_HANDLES_H_
#define TAILOR_TOOLS_HANDLES_H_

#include <memory>
#include <stdexcept>
#include <string>

#include "tailor/compiler.h"

namespace tailor {

struct Releases {
  void operator()(tailor_runtime* runtime) const { tailor_runtime_release(runtime); }
  void operator()(tailor_executable* executable) const { tailor_executable_release(executable); }
  void operator()(tailor_session* session) const { tailor_session_release(session); }
  void operator()(tailor_graph* graph) const { tailor_graph_release(graph); }
  void operator()(tailor_status* status) const { tailor_status_release(status); }
};
using RuntimeHandle = std::unique_ptr<tailor_runtime, Releases>;
using ExecutableHandle = std::unique_ptr<tailor_executable, Releases>;
using SessionHandle = std::unique_ptr<tailor_session, Releases>;
using GraphHandle = std::unique_ptr<tailor_graph, Releases>;
using StatusHandle = std::unique_ptr<tailor_status, Releases>;

class StatusError : public std::runtime_error {
 public:
  StatusError(int32_t code, const std::string& message) : std::runtime_error(message), code_(code) {}
  int32_t code() const { return code_; }  // TAILOR_INVALID_ARGUMENT, ...

 private:
  int32_t code_;
};

// Throws StatusError, its message after `prefix`, unless `status` is NULL. Releases it.
inline void Check(tailor_status* status, const std::string& prefix = "") {
  if (status == nullptr) return;
  const StatusHandle held(status);
  std::string message = prefix + tailor_status_message(status);
  if (const char* node = tailor_status_node(status); *node != '\0') message += std::string(" (node ") + node + ")";
  throw StatusError(tailor_status_code(status), message);
}

inline ExecutableHandle LoadArtifact(const std::string& path, const tailor_load_options* options = nullptr,
                                     const tailor_runtime* runtime = nullptr) {
  tailor_executable* executable = nullptr;
  Check(tailor_executable_load(runtime, path.data(), path.size(), options, &executable));
  return ExecutableHandle(executable);
}

}  // namespace tailor

#endif  // TAILOR_TOOLS_HANDLES_H_
