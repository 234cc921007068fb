#include "api/runtime_status.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "api/handle.h"

// One memory block: the struct, then message and node, each NUL-terminated.
struct tailor_status {
  tailor::HandleKind kind;
  int32_t code;
  const char* message;
  const char* node;
};

namespace tailor {
namespace {

const tailor_status kOutOfMemory = {HandleKind::kStatus, TAILOR_RESOURCE_EXHAUSTED, "out of memory", ""};

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The byte length of the UTF-8 character at the start of `text`; 0 if there is none, or if it is NUL.
size_t CharacterBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  const int first = byte(0);
  if (first == 0) return 0;
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const size_t bytes = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  const int least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;  // shorter encodings exist below
  const int most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;   // excludes surrogates and > U+10FFFF
  if (byte(1) < least || byte(1) > most) return 0;
  for (size_t i = 2; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return bytes;
}

// Copies `text`, NUL-terminated, with U+FFFD for each NUL and each invalid byte. Returns the position after it.
char* Append(char* to, std::string_view text) {
  while (!text.empty()) {
    const size_t bytes = CharacterBytes(text);
    const std::string_view piece = bytes == 0 ? kReplacement : text.substr(0, bytes);
    to = std::copy(piece.begin(), piece.end(), to);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  *to = '\0';
  return to + 1;
}

tailor_status* MakeStatus(int32_t code, std::string_view message, std::string_view node) {
  void* block = std::malloc(sizeof(tailor_status) + kReplacement.size() * (message.size() + node.size()) + 2);
  if (block == nullptr) return OutOfMemory();
  auto* status = static_cast<tailor_status*>(block);
  char* text = static_cast<char*>(block) + sizeof(tailor_status);
  *status = {HandleKind::kStatus, code, text, Append(text, message)};
  Append(const_cast<char*>(status->node), node);
  return status;
}

}  // namespace

tailor_status* OutOfMemory() { return const_cast<tailor_status*>(&kOutOfMemory); }

tailor_status* ToStatus(const Failure& failure) {
  if (failure.ok()) return nullptr;
  return MakeStatus(static_cast<int32_t>(failure.code), failure.message, failure.node);
}

}  // namespace tailor

using tailor::HandleKind;
using tailor::IsHandle;
using tailor::TextOf;

int32_t tailor_status_code(const tailor_status* status) {
  if (status == nullptr) return TAILOR_OK;
  return IsHandle(status, HandleKind::kStatus) ? status->code : TAILOR_INVALID_ARGUMENT;
}

const char* tailor_status_message(const tailor_status* status) {
  if (status == nullptr) return "";
  return IsHandle(status, HandleKind::kStatus) ? status->message : "the handle is not a tailor_status";
}

const char* tailor_status_node(const tailor_status* status) {
  return IsHandle(status, HandleKind::kStatus) ? status->node : "";
}

void tailor_status_release(tailor_status* status) {
  if (!IsHandle(status, HandleKind::kStatus) || status == tailor::OutOfMemory()) return;
  status->kind = HandleKind::kReleased;
  std::free(status);
}

tailor_status* tailor_status_create(int32_t code, const char* message, size_t message_size, const char* node,
                                    size_t node_size) {
  const auto text = [](const char* from, size_t size) { return from == nullptr ? "" : TextOf(from, size); };
  if (code == TAILOR_OK) {
    return tailor::MakeStatus(TAILOR_INVALID_ARGUMENT, "tailor_status_create: code is TAILOR_OK", "");
  }
  return tailor::MakeStatus(code, text(message, message_size), text(node, node_size));
}
