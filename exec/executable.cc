#include "exec/executable.h"

#include <algorithm>
#include <string>

#include "exec/arguments.h"
#include "exec/perf_map.h"
#include "exec/rt_api.h"
#include "exec/session.h"
#include "exec/session_pool.h"
#include "exec/tile_state.h"

namespace tailor {
namespace {

// The reasons why `variant` cannot run on `cpu` and this kind of device, before the device is asked; empty if it may.
std::vector<std::string> ReasonsAgainst(const Variant& variant, const CpuId& cpu, const Device* device) {
  const bool for_device = !variant.device_images.empty();
  if (for_device != (device != nullptr)) {
    return {for_device ? "a CUDA device, but is to run on the CPU" : "the CPU, but is to run on a CUDA device"};
  }
  std::vector<std::string> reasons = MissingFeatures(cpu, variant.features);
  const bool tiles = std::count(variant.features.begin(), variant.features.end(), "amx-tile") > 0;
  if (reasons.empty() && tiles && !RequestTileState()) {
    reasons.push_back("amx-tile: the operating system refuses its registers to this process");
  }
  if (variant.api_size > sizeof(RtApi) || variant.context_size > sizeof(RtContext)) {
    reasons.push_back("it was compiled for a newer runtime library");
  }
  return reasons;
}

std::string Joined(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

// A variant that can run, and its program on the device, if any.
struct Selected {
  const Variant* variant = nullptr;
  std::unique_ptr<DeviceProgram> on_device;
};

Failure SelectVariant(const Runtime& runtime, const Program& program, const CpuId& cpu, std::string_view target,
                      const Device* device, Selected* out) {
  std::vector<std::string> names, refusals;
  for (const Variant& variant : program.variants) {
    names.push_back(variant.target);
    if (!target.empty() && variant.target != target) continue;
    std::vector<std::string> reasons = ReasonsAgainst(variant, cpu, device);
    if (reasons.empty() && device != nullptr) {
      Failure f = device->Load(runtime, program, variant, &out->on_device);
      if (!f.ok() && f.code != Code::kFailedPrecondition) return f;
      if (!f.ok()) reasons.push_back(std::move(f.message));
    }
    if (reasons.empty()) {
      if (!refusals.empty()) runtime.Log(Runtime::kInfo, program, "variants not used: " + Joined(refusals, "; "));
      runtime.Log(Runtime::kInfo, program, "variant " + variant.target + " is used");
      out->variant = &variant;
      return {};
    }
    refusals.push_back(variant.target + " needs " + Joined(reasons, ", "));
  }
  if (refusals.empty()) {
    return {Code::kNotFound,
            "the artifact has no variant \"" + std::string(target) + "\"; it has " + Joined(names, ", "), ""};
  }
  return {Code::kFailedPrecondition, "this machine cannot run the artifact: " + Joined(refusals, "; "), ""};
}

}  // namespace

Executable::Executable(std::shared_ptr<const Runtime> runtime, const Program& program, const Variant* variant,
                       const CpuId& cpu)
    : runtime_(std::move(runtime)),
      program_(program),
      variant_(variant),
      costs_(&CostsForFamily(variant->machine_costs, CpuFamily(cpu), variant->costs)),
      sessions_(std::make_unique<SessionPool>(*this, runtime_->pool_limits())) {
  constants_.reserve(program.constants.size());
  for (const ProgramConstant& constant : program.constants) {
    constants_.push_back(constant.bytes.empty() ? EmptyTensorData() : constant.bytes.data());
  }
}

Executable::~Executable() {
  const MatmulProvider& provider = runtime_->provider();
  if (provider.forget == nullptr) return;
  for (const ProgramConstant& constant : program_.constants) provider.forget(provider.user, constant.bytes.data());
}

Failure Executable::Create(std::shared_ptr<const Runtime> runtime, const Program& program, const CpuId& cpu,
                           std::string_view target, const Device* device, std::unique_ptr<Executable>* out) {
  Selected selected;
  if (Failure f = SelectVariant(*runtime, program, cpu, target, device, &selected); !f.ok()) return f;
  std::unique_ptr<Executable> executable(new Executable(std::move(runtime), program, selected.variant, cpu));
  executable->device_ = std::move(selected.on_device);
  if (Failure f =
          CustomTable::Create(executable->runtime_->custom_operators(), *selected.variant, &executable->custom_table_);
      !f.ok()) {
    return f;
  }
  if (executable->custom_table_.gives_run_state()) {
    if (Failure f = executable->seeds_.Draw(); !f.ok()) return f;
  }
  if (Failure f = executable->image_.Map(selected.variant->image); !f.ok()) return f;
  if (executable->runtime_->perf_map()) {
    const auto base = reinterpret_cast<uintptr_t>(executable->image_.At<const void*>(0));
    const Failure f = AppendPerfMap(PerfMapLines(program, *selected.variant, base));
    if (!f.ok()) executable->runtime_->Log(Runtime::kWarning, program, f.message);
  }
  *out = std::move(executable);
  return {};
}

Failure Executable::Plan(InputList inputs, OutputList outputs, uint64_t threads, int32_t* versions,
                         uint64_t* workspace_bytes) const {
  if (outputs.size() != program_.outputs.size()) {
    return {Code::kInvalidArgument,
            std::to_string(outputs.size()) + " outputs given, expected " + std::to_string(program_.outputs.size()), ""};
  }
  Arguments arguments(program_, runtime_->allocator());
  if (Failure f = arguments.SetInputs(inputs, InputUse::kShapesOnly); !f.ok()) return f;
  RunState state;
  state.context.struct_size = sizeof(RtContext);
  state.context.constants = constants();
  state.context.costs = costs_;
  state.context.workers = device_ != nullptr
                              ? device_->workers()
                              : static_cast<int64_t>(std::min<uint64_t>(runtime_->ThreadsFor(threads), kMaxThreads));
  CustomCaller custom(custom_table_, seeds_);
  state.custom = &custom;
  PlanResult result{sizeof(PlanResult), 0, versions};
  if (plan()(&HostRtApi(), &state.context, arguments.in(), arguments.out(), &result) != 0) {
    if (state.fault.kind == Fault::Kind::kCustom) {
      return custom.Describe(state.fault.index, static_cast<int32_t>(state.fault.lhs));
    }
    return DescribeFault(program_, state.fault);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ProgramTensor& tensor = program_.outputs[i];
    outputs[i].rank = static_cast<int32_t>(tensor.dims.size());
    outputs[i].dtype = static_cast<int32_t>(tensor.dtype);
    std::copy_n(arguments.out()[i].dims, tensor.dims.size(), outputs[i].dims);
  }
  *workspace_bytes = result.workspace_bytes;
  return {};
}

Failure Executable::Run(InputList inputs, OutputList outputs) const {
  std::unique_ptr<Session> session;
  if (Failure f = sessions_->Borrow(&session); !f.ok()) return f;
  Failure result = session->Run(inputs, outputs, OutputUse::kNeedData);
  sessions_->GiveBack(std::move(session));
  return result;
}

void Executable::Trim() const { sessions_->Clear(); }

size_t Executable::idle_sessions() const { return sessions_->idle(); }

}  // namespace tailor
