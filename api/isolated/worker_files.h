// The protocol between the library and its compile worker: open files, and the worker's messages.
#ifndef TAILOR_API_ISOLATED_WORKER_FILES_H_
#define TAILOR_API_ISOLATED_WORKER_FILES_H_

#include <cstddef>
#include <cstdint>

namespace tailor::isolated {

// Descriptors of the worker, besides standard error, whose last lines are kept.
inline constexpr int kRequestFile = 3;   // memory file: RequestHeader, CompileRequest, constants
inline constexpr int kArtifactFile = 4;  // memory file, initially empty: receives the artifact's bytes
inline constexpr int kMessagePipe = 5;   // Messages

struct RequestHeader {
  uint64_t request_bytes;     // size of the CompileRequest after the header
  uint64_t constants_offset;  // from the start of the file
  uint64_t file_bytes;
};
inline constexpr uint64_t kConstantAlignment = 64;

struct Message {
  enum class Kind : uint32_t { kProgress, kFailed, kDone };
  Kind kind;
  int32_t code;         // kFailed: code of the status
  double done;          // kProgress
  uint32_t text_bytes;  // kProgress: size of the phase; kFailed: size of the status's message
  uint32_t node_bytes;  // kFailed: size of the status's node name
  // Followed by text and node.
};
static_assert(sizeof(Message) == 24);
inline constexpr size_t kMaxTextBytes = 1 << 20;

}  // namespace tailor::isolated

#endif  // TAILOR_API_ISOLATED_WORKER_FILES_H_
