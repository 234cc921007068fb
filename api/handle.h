// Conventions of both halves of the C API: kind tags of handles, and reading option structs. Depends only on exported
// functions of tailor/runtime.h.
#ifndef TAILOR_API_HANDLE_H_
#define TAILOR_API_HANDLE_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "tailor/runtime.h"

namespace tailor {

// The first word of every handle's object; kReleased after its release.
enum class HandleKind : uint64_t {
  kReleased = 0,
  kStatus = 0x7461696c6f720001,
  kRuntime = 0x7461696c6f720002,
  kExecutable = 0x7461696c6f720003,
  kSession = 0x7461696c6f720004,
  kGraph = 0x7461696c6f720005,
};

// The status "tailor_session_run: session is null" for a bad parameter.
inline tailor_status* InvalidParameter(const char* function, const char* parameter, const char* problem) {
  char message[256];
  std::snprintf(message, sizeof(message), "%s: %s %s", function, parameter, problem);
  return tailor_status_create(TAILOR_INVALID_ARGUMENT, message, SIZE_MAX, "", 0);
}

inline bool IsHandle(const void* handle, HandleKind kind) {
  return handle != nullptr && *static_cast<const HandleKind*>(handle) == kind;
}

// NULL if `handle` is a live handle of `kind`.
inline tailor_status* CheckHandle(const char* function, const char* parameter, const void* handle, HandleKind kind) {
  if (IsHandle(handle, kind)) [[likely]]
    return nullptr;
  return InvalidParameter(function, parameter, handle == nullptr ? "is null" : "is a handle of another kind");
}

inline tailor_status* CheckPointer(const char* function, const char* parameter, const void* pointer) {
  return pointer != nullptr ? nullptr : InvalidParameter(function, parameter, "is null");
}

// The text of a string parameter: `size` bytes, or up to the terminator if size is SIZE_MAX.
inline std::string_view TextOf(const char* text, size_t size) {
  return size == SIZE_MAX ? std::string_view(text) : std::string_view(text, size);
}

// Bytes [known, size) of a caller's struct belong to a later header and must be zero.
inline tailor_status* CheckUnknownBytes(const char* function, const char* parameter, const void* object, uint64_t known,
                                        uint64_t size) {
  const auto* bytes = static_cast<const unsigned char*>(object);
  for (uint64_t i = known; i < size; ++i) {
    if (bytes[i] != 0) return InvalidParameter(function, parameter, "sets a field that this library does not know");
  }
  return nullptr;
}

// Reads a caller's option struct over the defaults in `*out`. It may be older (shorter) or newer (longer) than ours.
template <typename Struct>
tailor_status* TakeOptions(const char* function, const Struct* options, Struct* out,
                           const char* parameter = "options") {
  if (options == nullptr) return nullptr;
  const uint64_t size = options->struct_size;
  if (size < sizeof(uint64_t) || size > 4096) {
    return InvalidParameter(function, parameter, "has a wrong struct_size: use its _init function");
  }
  if (auto* bad = CheckUnknownBytes(function, parameter, options, sizeof(Struct), size)) return bad;
  std::memcpy(static_cast<void*>(out), options, size < sizeof(Struct) ? size : sizeof(Struct));
  out->struct_size = sizeof(Struct);
  return nullptr;
}

// Writes `info` to a caller's struct, up to its struct_size, which stays.
template <typename Struct>
tailor_status* WriteInfo(const char* function, const Struct& info, Struct* out, const char* parameter = "out") {
  const uint64_t size = out->struct_size;
  if (size < sizeof(uint64_t) || size > 4096) {
    return InvalidParameter(function, parameter, "has a wrong struct_size: use its _init function");
  }
  std::memcpy(static_cast<void*>(out), &info, size < sizeof(Struct) ? size : sizeof(Struct));
  out->struct_size = size;
  return nullptr;
}

}  // namespace tailor

#endif  // TAILOR_API_HANDLE_H_
