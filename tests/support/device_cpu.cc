#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/compile.h"
#include "codegen/target_machine.h"
#include "exec/executable.h"
#include "exec/session.h"
#include "graph/status_macros.h"
#include "serialization/reader.h"
#include "serialization/writer.h"
#include "tests/support/device.h"

namespace tailor {
namespace {

absl::Status ToStatus(const Failure& failure) {
  if (failure.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(failure.code), failure.message);
}

Tensor TensorAt(void* data, const HostTensor& host) {
  Tensor tensor{sizeof(Tensor), data,   host.bytes.size(), static_cast<int32_t>(host.dtype),
                static_cast<int32_t>(host.dims.size()), {}, nullptr};
  std::copy(host.dims.begin(), host.dims.end(), tensor.dims);
  return tensor;
}

// A copy of a tensor that starts one element after a 64-byte boundary, with a pattern on both sides.
class Fenced {
 public:
  explicit Fenced(const HostTensor& host) : size_(host.bytes.size()), offset_(kFence + SizeOf(host.dtype)) {
    memory_ = AlignedBytes(offset_ + size_ + kFence);
    std::memset(memory_.data(), kPattern, memory_.size());
    std::copy(host.bytes.begin(), host.bytes.end(), memory_.data() + offset_);
  }
  std::byte* data() { return memory_.data() + offset_; }
  size_t size() const { return size_; }
  bool intact() const {
    auto untouched = [](std::byte b) { return b == std::byte{kPattern}; };
    return std::all_of(memory_.data(), memory_.data() + offset_, untouched) &&
           std::all_of(memory_.data() + offset_ + size_, memory_.data() + memory_.size(), untouched);
  }

 private:
  static constexpr size_t kFence = 192;
  static constexpr unsigned char kPattern = 0xa5;
  size_t size_, offset_;
  AlignedBytes memory_;
};

class CpuProgram : public DeviceProgram {
 public:
  // Saves `compiled` to memory and loads it from there.
  static absl::StatusOr<std::unique_ptr<DeviceProgram>> Load(const Program& compiled, const std::string& target) {
    auto program = std::make_unique<CpuProgram>();
    TAILOR_RETURN_IF_ERROR(ToStatus(WriteArtifact(compiled, {}, &program->bytes_)));
    TAILOR_RETURN_IF_ERROR(ToStatus(ReadArtifact(MemorySource(program->bytes_.span()), {}, &program->artifact_)));
    auto runtime = std::make_shared<const Runtime>(Runtime::Options{});
    TAILOR_RETURN_IF_ERROR(ToStatus(Executable::Create(std::move(runtime), program->artifact_.program, ThisCpu(),
                                                       target, &program->executable_)));
    return std::unique_ptr<DeviceProgram>(std::move(program));
  }

  absl::StatusOr<std::vector<HostTensor>> Run(const std::vector<HostTensor>& inputs, int threads) override {
    TAILOR_ASSIGN_OR_RETURN(Session * session, SessionFor(threads));
    std::vector<HostTensor> aligned = inputs;
    std::vector<Tensor> in, out(executable_->program().outputs.size(), Tensor{.struct_size = sizeof(Tensor)});
    for (HostTensor& tensor : aligned) in.push_back(TensorAt(tensor.bytes.data(), tensor));
    TAILOR_RETURN_IF_ERROR(ToStatus(session->Run({in.data(), in.size(), sizeof(Tensor)},
                                                 {out.data(), out.size(), sizeof(Tensor)}, OutputUse::kMayProvide)));
    std::vector<HostTensor> outputs;
    for (const Tensor& tensor : out) {
      const auto* data = static_cast<const std::byte*>(tensor.data);
      outputs.push_back({static_cast<DType>(tensor.dtype),
                         {tensor.dims, tensor.dims + tensor.rank},
                         {data, data + tensor.data_bytes}});
    }
    return outputs;
  }

  absl::Status RunInto(const std::vector<HostTensor>& inputs, int threads, std::vector<HostTensor>* outputs) override {
    TAILOR_ASSIGN_OR_RETURN(Session * session, SessionFor(threads));
    std::vector<Fenced> in_memory, out_memory;
    std::vector<Tensor> in, out;
    for (const HostTensor& tensor : inputs) in.push_back(TensorAt(in_memory.emplace_back(tensor).data(), tensor));
    for (const HostTensor& tensor : *outputs) out.push_back(TensorAt(out_memory.emplace_back(tensor).data(), tensor));
    TAILOR_RETURN_IF_ERROR(ToStatus(session->Run({in.data(), in.size(), sizeof(Tensor)},
                                                 {out.data(), out.size(), sizeof(Tensor)}, OutputUse::kNeedData)));
    for (size_t i = 0; i < in.size(); ++i) {
      const bool same = std::equal(inputs[i].bytes.begin(), inputs[i].bytes.end(), in_memory[i].data());
      if (!same || !in_memory[i].intact()) return absl::InternalError(absl::StrCat("input ", i, " was written to"));
    }
    for (size_t i = 0; i < out.size(); ++i) {
      if (!out_memory[i].intact()) return absl::InternalError(absl::StrCat("memory beside output ", i, " was written"));
      std::copy_n(out_memory[i].data(), out_memory[i].size(), (*outputs)[i].bytes.data());
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Session*> SessionFor(int threads) {
    std::unique_ptr<Session>& session = sessions_[threads];
    if (session == nullptr) {
      TAILOR_RETURN_IF_ERROR(ToStatus(
          Session::Create(*executable_, {.threads = static_cast<uint64_t>(threads), .sleep = true}, &session)));
    }
    return session.get();
  }

  AlignedBytes bytes_;
  Artifact artifact_;
  std::unique_ptr<Executable> executable_;
  std::map<int, std::unique_ptr<Session>> sessions_;
};

class CpuDevice : public Device {
 public:
  explicit CpuDevice(std::string target) : target_(std::move(target)) {}
  std::string name() const override { return target_; }
  absl::StatusOr<std::unique_ptr<DeviceProgram>> Compile(const Graph& graph) const override {
    TAILOR_ASSIGN_OR_RETURN(const CompiledProgram compiled, tailor::Compile(graph, {.targets = {target_}, .threads = 1}));
    return CpuProgram::Load(compiled.program, target_);
  }

 private:
  const std::string target_;
};

}  // namespace

std::vector<std::unique_ptr<Device>> CpuDevices() {
  std::vector<std::unique_ptr<Device>> devices;
  for (const char* level : {"x86-64-v4", "x86-64-v3", "x86-64-v2"}) {
    const auto target = FindCpuTarget(level);
    if (target.ok() && MissingFeatures(ThisCpu(), target->features).empty()) {
      devices.push_back(std::make_unique<CpuDevice>(level));
    }
  }
  return devices;
}

}  // namespace tailor
