#include "api/runtime_status.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "api/handle.h"

// One block: the struct, then message and node, each NUL-terminated.
struct tailor_status {
  tailor::HandleKind kind;
  int32_t code;
  const char* message;
  const char* node;
};

namespace tailor {
namespace {

const tailor_status kOutOfMemory = {HandleKind::kStatus, TAILOR_RESOURCE_EXHAUSTED, "out of memory", ""};

char* Append(char* to, std::string_view text) {
  std::memcpy(to, text.data(), text.size());
  to[text.size()] = '\0';
  return to + text.size() + 1;
}

tailor_status* MakeStatus(int32_t code, std::string_view message, std::string_view node) {
  void* block = std::malloc(sizeof(tailor_status) + message.size() + node.size() + 2);
  if (block == nullptr) return OutOfMemory();
  auto* status = static_cast<tailor_status*>(block);
  char* text = static_cast<char*>(block) + sizeof(tailor_status);
  *status = {HandleKind::kStatus, code, text, Append(text, message)};
  Append(text + message.size() + 1, node);
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
