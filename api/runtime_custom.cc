// Glue of tailor/runtime.h: registration of custom operators.
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "api/handle.h"
#include "api/runtime_handles.h"
#include "api/runtime_status.h"
#include "exec/custom_operator.h"
#include "serialization/utf8.h"

using tailor::CheckPointer;
using tailor::Code;
using tailor::CustomCall;
using tailor::CustomOperator;
using tailor::CustomTensor;
using tailor::Failure;
using tailor::HandleKind;
using tailor::ReleaseCallback;
using tailor::Runtime;

namespace {

// The C structs have the layout of those that the runtime fills.
static_assert(sizeof(tailor_custom_tensor) == sizeof(CustomTensor) &&
              offsetof(tailor_custom_tensor, dims) == offsetof(CustomTensor, dims) &&
              offsetof(tailor_custom_tensor, rank) == offsetof(CustomTensor, rank));
static_assert(sizeof(tailor_custom_call) == sizeof(CustomCall) &&
              offsetof(tailor_custom_call, attributes) == offsetof(CustomCall, attributes) &&
              offsetof(tailor_custom_call, operands) == offsetof(CustomCall, operands) &&
              offsetof(tailor_custom_call, results) == offsetof(CustomCall, results) &&
              offsetof(tailor_custom_call, workspace) == offsetof(CustomCall, workspace) &&
              offsetof(tailor_custom_call, stream) == offsetof(CustomCall, stream) &&
              offsetof(tailor_custom_call, message_capacity) == offsetof(CustomCall, message_capacity));

constexpr auto kFunction = "tailor_runtime_register";

Failure Wrong(const char* field, const char* problem) {
  return {Code::kInvalidArgument, std::string(kFunction) + ": " + field + " " + problem, ""};
}

Failure Register(const Runtime& runtime, const tailor_custom_operator& op, ReleaseCallback released) {
  if (op.name == nullptr) return Wrong("op.name", "is null");
  auto added = std::make_shared<CustomOperator>();
  added->name = tailor::TextOf(op.name, op.name_size);
  added->on_device = op.device == TAILOR_DEVICE_CUDA;
  added->function = op.function;
  added->workspace = op.workspace;
  added->user = op.user;
  added->released = std::move(released);
  if (added->name.empty() || !tailor::IsText(added->name)) return Wrong("op.name", "is empty or not UTF-8 text");
  if (added->function == nullptr) return Wrong("op.function", "is null");
  if (op.device != TAILOR_DEVICE_CPU && !added->on_device) return Wrong("op.device", "is no TAILOR_DEVICE_*");
  return runtime.custom_operators().Add(std::move(added));
}

}  // namespace

tailor_status* tailor_runtime_register(tailor_runtime* runtime, const tailor_custom_operator* op) {
  if (auto* bad = CheckPointer(kFunction, "op", op)) return bad;
  tailor_custom_operator read;
  tailor_custom_operator_init(&read);
  if (auto* bad = tailor::TakeOptions(kFunction, op, &read, "op")) return bad;
  ReleaseCallback released{read.released, read.user};
  if (auto* bad = tailor::CheckHandle(kFunction, "runtime", runtime, HandleKind::kRuntime)) return bad;
  return tailor::Guarded([&] { return Register(*runtime->runtime, read, std::move(released)); });
}
