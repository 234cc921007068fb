// Descriptions of executables and artifacts: signature, symbols, JSON.
#include <memory>
#include <string>

#include "api/handle.h"
#include "api/runtime_handles.h"
#include "api/runtime_status.h"
#include "exec/describe.h"
#include "serialization/reader.h"

using tailor::CheckHandle;
using tailor::CheckPointer;
using tailor::Failure;
using tailor::HandleKind;

static_assert(TAILOR_MAX_RANK == tailor::kMaxRank);

namespace {

const tailor::Program* ProgramOf(const tailor_executable* executable) {
  return tailor::IsHandle(executable, HandleKind::kExecutable) ? &executable->artifact.program : nullptr;
}

// Size of the file.
uint64_t BytesOf(const tailor::Artifact& artifact) {
  return artifact.prefix.size() + artifact.constants.bytes().size();
}

tailor_status* OutOfRange(const char* function, size_t index, size_t count) {
  return tailor::Guarded([&]() -> Failure {
    return {tailor::Code::kOutOfRange,
            std::string(function) + ": index is " + std::to_string(index) + ", but there are " + std::to_string(count),
            ""};
  });
}

tailor_status* TensorInfo(const char* function, const tailor_executable* executable,
                          std::vector<tailor::ProgramTensor> tailor::Program::*list, size_t index,
                          tailor_tensor_info* out) {
  if (auto* bad = CheckHandle(function, "executable", executable, HandleKind::kExecutable)) return bad;
  if (auto* bad = CheckPointer(function, "out", out)) return bad;
  const auto& tensors = executable->artifact.program.*list;
  if (index >= tensors.size()) return OutOfRange(function, index, tensors.size());
  const tailor::ProgramTensor& tensor = tensors[index];
  tailor_tensor_info info;
  tailor_tensor_info_init(&info);
  info.name = tensor.name.c_str();
  info.dtype = static_cast<int32_t>(tensor.dtype);
  info.rank = static_cast<int32_t>(tensor.dims.size());
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    info.extents[i] = tensor.dims[i].dim_size;
    info.dim_texts[i] = tensor.dims[i].text.c_str();
  }
  info.donated = tensor.donated;
  info.memory_of = tensor.memory_of;
  return tailor::WriteInfo(function, info, out);
}

}  // namespace

size_t tailor_executable_input_count(const tailor_executable* executable) {
  const tailor::Program* program = ProgramOf(executable);
  return program != nullptr ? program->inputs.size() : 0;
}

size_t tailor_executable_output_count(const tailor_executable* executable) {
  const tailor::Program* program = ProgramOf(executable);
  return program != nullptr ? program->outputs.size() : 0;
}

size_t tailor_executable_symbol_count(const tailor_executable* executable) {
  const tailor::Program* program = ProgramOf(executable);
  return program != nullptr ? program->symbols.size() : 0;
}

tailor_status* tailor_executable_input(const tailor_executable* executable, size_t index, tailor_tensor_info* out) {
  return TensorInfo("tailor_executable_input", executable, &tailor::Program::inputs, index, out);
}

tailor_status* tailor_executable_output(const tailor_executable* executable, size_t index, tailor_tensor_info* out) {
  return TensorInfo("tailor_executable_output", executable, &tailor::Program::outputs, index, out);
}

tailor_status* tailor_executable_symbol(const tailor_executable* executable, size_t index, tailor_symbol_info* out) {
  constexpr auto kFunction = "tailor_executable_symbol";
  if (auto* bad = CheckHandle(kFunction, "executable", executable, HandleKind::kExecutable)) return bad;
  if (auto* bad = CheckPointer(kFunction, "out", out)) return bad;
  const auto& symbols = executable->artifact.program.symbols;
  if (index >= symbols.size()) return OutOfRange(kFunction, index, symbols.size());
  const tailor::ProgramSymbol& symbol = symbols[index];
  const tailor_symbol_info info = {sizeof(info), symbol.name.c_str(), symbol.min, symbol.max, symbol.multiple_of};
  return tailor::WriteInfo(kFunction, info, out);
}

size_t tailor_executable_launch_count(const tailor_executable* executable) {
  if (!tailor::IsHandle(executable, HandleKind::kExecutable)) return 0;
  return executable->executable->variant().launches.size();
}

tailor_status* tailor_executable_launch(const tailor_executable* executable, size_t index, tailor_launch_info* out) {
  constexpr auto kFunction = "tailor_executable_launch";
  if (auto* bad = CheckHandle(kFunction, "executable", executable, HandleKind::kExecutable)) return bad;
  if (auto* bad = CheckPointer(kFunction, "out", out)) return bad;
  const tailor::Variant& variant = executable->executable->variant();
  if (index >= variant.launches.size()) return OutOfRange(kFunction, index, variant.launches.size());
  const tailor::ProgramLaunch& launch = variant.launches[index];
  tailor_launch_info info;
  tailor_launch_info_init(&info);
  info.kernel = launch.kernel.c_str();
  info.versions = launch.versions.size();
  info.dropped = launch.dropped.size();
  info.code = static_cast<uint64_t>(launch.code);
  info.code_bytes = variant.kernel_bytes.empty() ? 0 : variant.kernel_bytes[launch.code];
  return tailor::WriteInfo(kFunction, info, out);
}

tailor_status* tailor_artifact_describe(const char* path, size_t path_size,
                                        void (*take)(void* user, const char* json, size_t size), void* user) {
  constexpr auto kFunction = "tailor_artifact_describe";
  if (auto* bad = CheckPointer(kFunction, "path", path)) return bad;
  if (take == nullptr) return tailor::InvalidParameter(kFunction, "take", "is null");
  return tailor::Guarded([&]() -> Failure {
    std::string name;
    if (Failure f = tailor::ReadPath(path, path_size, &name); !f.ok()) return f;
    tailor::FileSource source;
    if (Failure f = source.Open(name); !f.ok()) return f;
    tailor::Artifact artifact;
    if (Failure f = tailor::ReadArtifact(source, {}, &artifact); !f.ok()) return f.message = name + ": " + f.message, f;
    const std::string json =
        tailor::DescribeAsJson(artifact.program, nullptr, BytesOf(artifact), ConstantsHash(artifact));
    take(user, json.c_str(), json.size());
    return {};
  });
}

tailor_status* tailor_executable_describe(const tailor_executable* executable, const char** json) {
  constexpr auto kFunction = "tailor_executable_describe";
  if (auto* bad = CheckHandle(kFunction, "executable", executable, HandleKind::kExecutable)) return bad;
  if (auto* bad = CheckPointer(kFunction, "json", json)) return bad;
  return tailor::Guarded([&]() -> Failure {
    const std::string* made = executable->description.load(std::memory_order_acquire);
    if (made == nullptr) {
      auto fresh = std::make_unique<const std::string>(
          tailor::DescribeAsJson(executable->artifact.program, &executable->executable->variant(),
                                 BytesOf(executable->artifact), ConstantsHash(executable->artifact)));
      // Of several threads that arrive first, one wins; the others' texts are freed.
      if (executable->description.compare_exchange_strong(made, fresh.get(), std::memory_order_acq_rel)) {
        made = fresh.release();
      }
    }
    *json = made->c_str();
    return {};
  });
}
