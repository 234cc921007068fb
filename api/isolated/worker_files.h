// What the library and its compile worker share: open files, and the messages that the worker sends.
#ifndef TAILOR_API_ISOLATED_WORKER_FILES_H_
#define TAILOR_API_ISOLATED_WORKER_FILES_H_

#include <cstddef>
#include <cstdint>

namespace tailor::isolated {

// Of the worker, beside standard error, of which the last lines are kept.
inline constexpr int kRequestFile = 3;   // memory: RequestHeader, CompileRequest, constants
inline constexpr int kArtifactFile = 4;  // memory, empty: the artifact's bytes go there
inline constexpr int kMessagePipe = 5;   // Messages

struct RequestHeader {
  uint64_t request_bytes;     // of the CompileRequest that follows the header
  uint64_t constants_offset;  // from the start of the file
  uint64_t file_bytes;
};
inline constexpr uint64_t kConstantAlignment = 64;

struct Message {
  enum class Kind : uint32_t { kProgress, kFailed, kDone };
  Kind kind;
  int32_t code;         // kFailed: of the status
  double done;          // kProgress
  uint32_t text_bytes;  // kProgress: the phase; kFailed: the status' message
  uint32_t node_bytes;  // kFailed: the status' node
  // Then text and node.
};
static_assert(sizeof(Message) == 24);
inline constexpr size_t kMaxTextBytes = 1 << 20;

}  // namespace tailor::isolated

#endif  // TAILOR_API_ISOLATED_WORKER_FILES_H_
