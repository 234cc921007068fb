#include "exec/custom_operator.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <string_view>

#include "exec/device.h"
#include "exec/fork.h"

namespace tailor {
namespace {

constexpr std::string_view kOwnNames = "tailor.", kRunState = "tailor.run_state";
constexpr uint64_t kWorkspaceAlignment = 64;
constexpr uint64_t kMaxWorkspaceBytes = uint64_t{1} << 48;

// A code that a function returned as the code of a status.
Code StatusCode(int32_t code) {
  for (const Code known : {Code::kCancelled, Code::kInvalidArgument, Code::kNotFound, Code::kResourceExhausted,
                           Code::kFailedPrecondition, Code::kOutOfRange, Code::kUnimplemented, Code::kDataLoss}) {
    if (code == static_cast<int32_t>(known)) return known;
  }
  return Code::kInternal;
}

}  // namespace

Failure SeedSource::Draw() {
  if (getrandom(&seed_, sizeof(seed_), 0) == sizeof(seed_)) return {};
  return {Code::kFailedPrecondition, "the system provides no random bytes for a seed", ""};
}

Failure CustomOperators::Add(std::shared_ptr<const CustomOperator> added) {
  if (added->name.starts_with(kOwnNames)) {
    return {Code::kInvalidArgument, "custom operator \"" + added->name + "\": names that begin with tailor. are taken",
            ""};
  }
  const std::lock_guard lock(BookkeepingMutex());
  const std::string name = added->name;
  const bool on_device = added->on_device;
  if (added_.emplace(std::pair(name, on_device), std::move(added)).second) return {};
  return {Code::kInvalidArgument,
          "custom operator \"" + name + "\" is registered already for " + (on_device ? "CUDA" : "the CPU"), ""};
}

std::shared_ptr<const CustomOperator> CustomOperators::Find(const std::string& name, bool on_device) const {
  const std::lock_guard lock(BookkeepingMutex());
  const auto found = added_.find({name, on_device});
  return found == added_.end() ? nullptr : found->second;
}

Failure CustomTable::Create(const CustomOperators& operators, const Variant& variant, CustomTable* out) {
  const bool on_device = !variant.device_images.empty();
  CustomTable table;
  std::string missing;
  table.calls_ = &variant.custom_calls;
  for (const ProgramCustomCall& call : variant.custom_calls) {
    table.most_tensors_ = std::max(table.most_tensors_, call.operands.size() + call.results.size());
    if (call.name == kRunState) {
      table.operators_.push_back(nullptr);
      table.gives_run_state_ = true;
      continue;
    }
    table.operators_.push_back(operators.Find(call.name, on_device));
    const std::string quoted = "\"" + call.name + "\"";
    const bool named = missing.find(quoted) != std::string::npos;
    if (table.operators_.back() == nullptr && !named) missing += (missing.empty() ? "" : ", ") + quoted;
  }
  if (!missing.empty()) {
    return {Code::kFailedPrecondition,
            "the program needs custom operators that are not registered for " +
                std::string(on_device ? "CUDA" : "the CPU") + ": " + missing + " (tailor_runtime_register)",
            ""};
  }
  *out = std::move(table);
  return {};
}

CustomCall CustomCaller::Prepare(size_t number, const TensorArg* arguments) {
  const ProgramCustomCall& described = table_.call(number);
  const size_t operands = described.operands.size(), results = described.results.size();
  for (size_t i = 0; i < operands + results; ++i) {
    const ProgramCustomCall::Tensor& type = i < operands ? described.operands[i] : described.results[i - operands];
    tensors_[i] = {arguments[i].data, arguments[i].dims, static_cast<int32_t>(type.dtype), type.rank};
  }
  message_[0] = '\0';
  return {.struct_size = sizeof(CustomCall),
          .name = described.name.c_str(),
          .node = described.node.c_str(),
          .attributes = described.attributes.c_str(),
          .attributes_size = described.attributes.size(),
          .operands = tensors_.data(),
          .operand_count = operands,
          .results = tensors_.data() + operands,
          .result_count = results,
          .workspace = nullptr,
          .workspace_bytes = 0,
          .stream = nullptr,
          .message = message_.data(),
          .message_capacity = message_.size()};
}

void CustomCaller::SetMessage(const char* text) { std::snprintf(message_.data(), message_.size(), "%s", text); }

template <typename Function>
int32_t CustomCaller::Guarded(Function function) {
  constexpr auto kInternal = static_cast<int32_t>(Code::kInternal);
  try {
    return function();
  } catch (const std::exception& e) {
    SetMessage("it threw an exception: ");
    const size_t used = sizeof("it threw an exception: ") - 1;
    std::snprintf(message_.data() + used, message_.size() - used, "%s", e.what());
  } catch (...) {
    SetMessage("it threw an exception");
  }
  return kInternal;
}

void CustomCaller::DrawRunState() {
  run_state_[0] = own_seed_ ? *own_seed_ : seeds_.seed();
  run_state_[1] = own_seed_ ? own_runs_++ : seeds_.NextRun();
}

bool CustomCaller::GiveRunState(const TensorArg& result, DeviceStream* stream) const {
  if (stream != nullptr) return stream->Upload(result.data, run_state_, sizeof(run_state_));
  std::memcpy(result.data, run_state_, sizeof(run_state_));
  return true;
}

int32_t CustomCaller::Call(size_t number, const TensorArg* arguments, void* workspace, uint64_t bytes,
                           DeviceStream* stream) {
  CustomCall call = Prepare(number, arguments);
  call.workspace = bytes > 0 ? workspace : nullptr;
  call.workspace_bytes = bytes;
  call.stream = stream != nullptr ? stream->native() : nullptr;
  const CustomOperator& op = table_.op(number);
  return Guarded([&] { return op.function(op.user, reinterpret_cast<const tailor_custom_call*>(&call)); });
}

int32_t CustomCaller::Workspace(size_t number, const TensorArg* arguments, uint64_t* bytes) {
  *bytes = 0;
  if (table_.gives_run_state(number)) return 0;
  const CustomOperator& op = table_.op(number);
  if (op.workspace == nullptr) return 0;
  const CustomCall call = Prepare(number, arguments);
  uint64_t wanted = 0;
  const int32_t code =
      Guarded([&] { return op.workspace(op.user, reinterpret_cast<const tailor_custom_call*>(&call), &wanted); });
  if (code != 0) return code;
  if (wanted > kMaxWorkspaceBytes) {
    std::snprintf(message_.data(), message_.size(), "it asks for a workspace of %llu bytes",
                  static_cast<unsigned long long>(wanted));
    return static_cast<int32_t>(Code::kResourceExhausted);
  }
  *bytes = (wanted + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
  return 0;
}

Failure CustomCaller::Describe(size_t number, int32_t code) const {
  const ProgramCustomCall& call = table_.call(number);
  // The function may have written all of it, without a terminator.
  const std::string message(message_.data(), std::find(message_.begin(), message_.end(), '\0') - message_.begin());
  return {StatusCode(code),
          "custom operator \"" + call.name + "\" failed" +
              (message.empty() ? " with code " + std::to_string(code) : ": " + message),
          call.node};
}

}  // namespace tailor
