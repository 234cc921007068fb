#include "tests/support/loaded_program.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exec/counters.h"
#include "exec/executable.h"
#include "exec/session.h"
#include "graph/status_macros.h"
#include "serialization/reader.h"

namespace tailor {
namespace {

Tensor TensorAt(void* data, const HostTensor& host) {
  Tensor tensor{sizeof(Tensor),
                data,
                host.bytes.size(),
                static_cast<int32_t>(host.dtype),
                static_cast<int32_t>(host.dims.size()),
                {},
                nullptr};
  std::copy(host.dims.begin(), host.dims.end(), tensor.dims);
  return tensor;
}

struct Guards {
  int protection = PROT_NONE;
  size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
} guards;

// Memory between guards that no access survives: one where it ends, and one a page before it.
class GuardedMemory {
 public:
  // `data` is at least element aligned where `size` is a multiple of the element's.
  explicit GuardedMemory(size_t size) : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    mapped_ = guards.bytes + page_ + (size + page_ - 1) / page_ * page_ + guards.bytes;
    void* map = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(map != MAP_FAILED);
    base_ = static_cast<std::byte*>(map);
    std::byte* const end = base_ + mapped_ - guards.bytes;
    data_ = end - size;
    std::memset(base_ + guards.bytes, kPattern, static_cast<size_t>(end - base_) - guards.bytes);
    for (std::byte* guard : {base_, end}) mprotect(guard, guards.bytes, guards.protection);
  }
  GuardedMemory(GuardedMemory&& other) noexcept
      : page_(other.page_), mapped_(other.mapped_), base_(std::exchange(other.base_, nullptr)), data_(other.data_) {}
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory() {
    if (base_ != nullptr) munmap(base_, mapped_);
  }
  std::byte* data() const { return data_; }
  // Whether nothing was written before `data`.
  bool intact() const {
    return std::all_of(base_ + guards.bytes, data_, [](std::byte b) { return b == std::byte{kPattern}; });
  }

 private:
  static constexpr unsigned char kPattern = 0xa5;
  const size_t page_;
  size_t mapped_;
  std::byte* base_;
  std::byte* data_;
};

GuardedMemory CopyOf(const HostTensor& tensor) {
  GuardedMemory memory(tensor.bytes.size());
  std::copy(tensor.bytes.begin(), tensor.bytes.end(), memory.data());
  return memory;
}

// The library's own memory, guarded as well.
class GuardedHeap {
 public:
  Allocator allocator() {
    return {[](void* user, size_t bytes, size_t alignment) -> void* {
              GuardedMemory memory((bytes + alignment - 1) / alignment * alignment);
              void* data = memory.data();
              static_cast<GuardedHeap*>(user)->blocks_.emplace(data, std::move(memory));
              return data;
            },
            [](void* user, void* data, size_t) { static_cast<GuardedHeap*>(user)->blocks_.erase(data); }, this};
  }

 private:
  std::map<void*, GuardedMemory> blocks_;
};

class LoadedProgram : public TestProgram {
 public:
  static absl::StatusOr<std::unique_ptr<TestProgram>> Load(AlignedBytes artifact, const std::string& target,
                                                           const DeviceChoice& device) {
    auto program = std::make_unique<LoadedProgram>();
    program->bytes_ = std::move(artifact);
    TAILOR_RETURN_IF_ERROR(
        StatusOfFailure(ReadArtifact(MemorySource(program->bytes_.span()), {}, &program->artifact_)));
    auto runtime = std::make_shared<const Runtime>(Runtime::Options{.allocator = program->heap_.allocator()});
    const Device* found = nullptr;
    TAILOR_RETURN_IF_ERROR(StatusOfFailure(FindDevice(device, &found)));
    TAILOR_RETURN_IF_ERROR(StatusOfFailure(Executable::Create(std::move(runtime), program->artifact_.program, ThisCpu(),
                                                              target, found, &program->executable_)));
    return std::unique_ptr<TestProgram>(std::move(program));
  }

  absl::StatusOr<std::vector<HostTensor>> Run(const std::vector<HostTensor>& inputs, int threads) override {
    TAILOR_ASSIGN_OR_RETURN(Session * session, SessionFor(threads));
    std::vector<HostTensor> aligned = inputs;
    std::vector<Tensor> in, out(executable_->program().outputs.size(), Tensor{.struct_size = sizeof(Tensor)});
    for (HostTensor& tensor : aligned) in.push_back(TensorAt(tensor.bytes.data(), tensor));
    TAILOR_RETURN_IF_ERROR(StatusOfFailure(session->Run(
        {in.data(), in.size(), sizeof(Tensor)}, {out.data(), out.size(), sizeof(Tensor)}, OutputUse::kMayProvide)));
    std::vector<HostTensor> outputs;
    for (const Tensor& tensor : out) {
      const auto* data = static_cast<const std::byte*>(tensor.data);
      outputs.push_back({static_cast<DType>(tensor.dtype),
                         {tensor.dims, tensor.dims + tensor.rank},
                         {data, data + tensor.data_bytes}});
    }
    TAILOR_RETURN_IF_ERROR(CheckPlan(in, outputs, threads));
    return outputs;
  }

  absl::Status RunInto(const std::vector<HostTensor>& inputs, int threads, std::vector<HostTensor>* outputs) override {
    TAILOR_ASSIGN_OR_RETURN(Session * session, SessionFor(threads));
    const Program& signature = executable_->program();
    std::vector<GuardedMemory> in_memory, out_memory;
    std::vector<Tensor> in, out;
    for (const HostTensor& tensor : inputs) in_memory.push_back(CopyOf(tensor));
    for (const HostTensor& tensor : *outputs) out_memory.push_back(CopyOf(tensor));
    for (size_t i = 0; i < inputs.size(); ++i) in.push_back(TensorAt(in_memory[i].data(), inputs[i]));
    for (size_t i = 0; i < outputs->size(); ++i) {
      const int32_t input = signature.outputs[i].memory_of;
      out.push_back(TensorAt((input >= 0 ? in_memory[input] : out_memory[i]).data(), (*outputs)[i]));
    }
    TAILOR_RETURN_IF_ERROR(StatusOfFailure(session->Reserve({in.data(), in.size(), sizeof(Tensor)})));
    const auto run = [&] {
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (signature.inputs[i].donated) std::copy(inputs[i].bytes.begin(), inputs[i].bytes.end(), in_memory[i].data());
      }
      return StatusOfFailure(session->Run({in.data(), in.size(), sizeof(Tensor)},
                                          {out.data(), out.size(), sizeof(Tensor)}, OutputUse::kNeedData));
    };
    // What only data tells cannot be reserved, nor can a device's copies of the host's tensors: there the second run of
    // two must not grow.
    const bool grows = executable_->variant().growable_blocks > 0 || executable_->device() != nullptr;
    if (grows) TAILOR_RETURN_IF_ERROR(run());
    const uint64_t growths = ReadCounters().workspace_growths;
    TAILOR_RETURN_IF_ERROR(run());
    if (ReadCounters().workspace_growths != growths) return absl::InternalError("a run grew the reserved workspace");
    for (size_t i = 0; i < in.size(); ++i) {
      const bool same = signature.inputs[i].donated ||
                        std::equal(inputs[i].bytes.begin(), inputs[i].bytes.end(), in_memory[i].data());
      if (!same || !in_memory[i].intact()) return absl::InternalError(absl::StrCat("input ", i, " was written to"));
    }
    for (size_t i = 0; i < out.size(); ++i) {
      if (!out_memory[i].intact()) return absl::InternalError(absl::StrCat("memory before output ", i, " was written"));
      std::copy_n(static_cast<const std::byte*>(out[i].data), (*outputs)[i].bytes.size(), (*outputs)[i].bytes.data());
    }
    return absl::OkStatus();
  }

 private:
  // The plan function gives the dims that the run gave; -1 for those that only data tells.
  absl::Status CheckPlan(const std::vector<Tensor>& in, const std::vector<HostTensor>& outputs, int threads) const {
    std::vector<Tensor> planned(outputs.size(), Tensor{.struct_size = sizeof(Tensor)});
    uint64_t workspace = 0;
    TAILOR_RETURN_IF_ERROR(StatusOfFailure(executable_->Plan({in.data(), in.size(), sizeof(Tensor)},
                                                             {planned.data(), planned.size(), sizeof(Tensor)},
                                                             static_cast<uint64_t>(threads), nullptr, &workspace)));
    for (size_t i = 0; i < outputs.size(); ++i) {
      bool alike = static_cast<size_t>(planned[i].rank) == outputs[i].dims.size();
      for (size_t d = 0; alike && d < outputs[i].dims.size(); ++d) {
        const bool told_by_data = planned[i].dims[d] == -1 && executable_->variant().growable_blocks > 0;
        alike = told_by_data || planned[i].dims[d] == outputs[i].dims[d];
      }
      if (!alike) return absl::InternalError(absl::StrCat("the plan has other dims for output ", i));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Session*> SessionFor(int threads) {
    std::unique_ptr<Session>& session = sessions_[threads];
    if (session == nullptr) {
      Session::Options options{.threads = static_cast<uint64_t>(threads), .sleep = true, .host_outputs = true};
      options.cuda_graph = threads > 1 && executable_->device() != nullptr && !executable_->variant().reads_back;
      TAILOR_RETURN_IF_ERROR(StatusOfFailure(Session::Create(*executable_, options, &session)));
    }
    return session.get();
  }

  GuardedHeap heap_;
  AlignedBytes bytes_;
  Artifact artifact_;
  std::unique_ptr<Executable> executable_;
  std::map<int, std::unique_ptr<Session>> sessions_;
};

}  // namespace

void AllowReadsAround(size_t bytes) { guards = {PROT_READ, bytes}; }

absl::Status StatusOfFailure(const Failure& failure) {
  if (failure.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(failure.code), failure.message);
}

absl::StatusOr<std::unique_ptr<TestProgram>> LoadProgram(AlignedBytes artifact, const std::string& target,
                                                         const DeviceChoice& device) {
  return LoadedProgram::Load(std::move(artifact), target, device);
}

}  // namespace tailor
