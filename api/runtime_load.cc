// Loading, saving, and the lifetime of tailor_executable.
#include <memory>
#include <string>
#include <string_view>

#include "api/handle.h"
#include "api/runtime_handles.h"
#include "api/runtime_status.h"
#include "exec/cpu_features.h"
#include "exec/cuda/find_device.h"
#include "exec/replace_costs.h"
#include "serialization/reader.h"

using tailor::CheckHandle;
using tailor::CheckPointer;
using tailor::Code;
using tailor::Failure;
using tailor::HandleKind;

namespace {

const std::shared_ptr<const tailor::Runtime>& RuntimeOf(const tailor_runtime* runtime) {
  static const auto* const shared =
      new std::shared_ptr<const tailor::Runtime>(std::make_shared<const tailor::Runtime>(tailor::Runtime::Options{}));
  return runtime != nullptr ? runtime->runtime : *shared;
}

// The display name of a program that was not read from a file.
std::string NameInMemory(const tailor::Program& program) {
  const std::string& graph = program.provenance.graph_name;
  return graph.empty() ? "artifact in memory" : "graph \"" + graph + "\"";
}

// `path` is empty for an artifact in memory.
Failure Load(const tailor_runtime* runtime, const tailor::Source& source, const std::string& path,
             const tailor_load_options& options, bool copy_constants, std::unique_ptr<tailor_executable> executable,
             tailor_executable** out) {
  const tailor::ReadOptions read = {options.verify_constants != 0, copy_constants, options.public_key};
  if (Failure f = tailor::ReadArtifact(source, read, &executable->artifact); !f.ok()) return f;
  tailor::Program& program = executable->artifact.program;
  program.display_name = path.empty() ? NameInMemory(program) : path;
  if (options.cost_profile != nullptr) {
    const std::string_view text = tailor::TextOf(options.cost_profile, options.cost_profile_size);
    if (Failure f = tailor::ReplaceCosts(text, &program); !f.ok()) return f;
  }
  const tailor::Device* device = nullptr;
  if (Failure f = tailor::FindDevice({options.device, options.device_ordinal}, &device); !f.ok()) return f;
  std::unique_ptr<tailor::Executable> loaded;
  Failure f = tailor::Executable::Create(RuntimeOf(runtime), program, tailor::ThisCpu(),
                                         options.target != nullptr ? options.target : "", device, &loaded);
  if (!f.ok()) return f;
  executable->executable = std::move(loaded);
  *out = executable.release();
  return {};
}

tailor_status* CheckLoad(const char* function, const tailor_runtime* runtime, const tailor_load_options* options,
                         tailor_executable** out, tailor_load_options* read) {
  if (auto* bad = CheckPointer(function, "out", out)) return bad;
  if (runtime != nullptr) {
    if (auto* bad = CheckHandle(function, "runtime", runtime, HandleKind::kRuntime)) return bad;
  }
  tailor_load_options_init(read);
  return tailor::TakeOptions(function, options, read);
}

}  // namespace

Failure tailor::ReadPath(const char* path, size_t size, std::string* out) {
  *out = TextOf(path, size);
  if (out->empty()) return {Code::kInvalidArgument, "the path is empty", ""};
  if (out->find('\0') != std::string::npos) return {Code::kInvalidArgument, "the path holds a zero byte", ""};
  return {};
}

tailor_status* tailor_executable_load(const tailor_runtime* runtime, const char* path, size_t path_size,
                                      const tailor_load_options* options, tailor_executable** out) {
  constexpr auto kFunction = "tailor_executable_load";
  tailor_load_options read;
  if (auto* bad = CheckLoad(kFunction, runtime, options, out, &read)) return bad;
  if (auto* bad = CheckPointer(kFunction, "path", path)) return bad;
  return tailor::Guarded([&]() -> Failure {
    std::string name;
    if (Failure f = tailor::ReadPath(path, path_size, &name); !f.ok()) return f;
    tailor::FileSource source;
    if (Failure f = source.Open(name); !f.ok()) return f;
    Failure f = Load(runtime, source, name, read, read.copy_constants != 0, std::make_unique<tailor_executable>(), out);
    if (!f.ok()) f.message = name + ": " + f.message;
    return f;
  });
}

tailor_status* tailor_executable_load_memory(const tailor_runtime* runtime, const void* data, size_t size,
                                             const tailor_load_options* options, void (*released)(void* user),
                                             void* user, tailor_executable** out) {
  constexpr auto kFunction = "tailor_executable_load_memory";
  tailor::ReleaseCallback borrowed(released, user);  // called on every path that ends without an executable
  tailor_load_options read;
  if (auto* bad = CheckLoad(kFunction, runtime, options, out, &read)) return bad;
  if (auto* bad = CheckPointer(kFunction, "data", data)) return bad;
  return tailor::Guarded([&]() -> Failure {
    const tailor::MemorySource source({static_cast<const std::byte*>(data), size});
    auto executable = std::make_unique<tailor_executable>();
    executable->borrowed = std::move(borrowed);
    const bool copy = read.copy_constants != 0 || released == nullptr;
    return Load(runtime, source, "", read, copy, std::move(executable), out);
  });
}

void tailor_executable_retain(const tailor_executable* executable) {
  if (!tailor::IsHandle(executable, HandleKind::kExecutable)) return;
  executable->references.fetch_add(1, std::memory_order_relaxed);
}

void tailor_executable_release(tailor_executable* executable) {
  if (!tailor::IsHandle(executable, HandleKind::kExecutable)) return;
  if (executable->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  executable->kind = HandleKind::kReleased;
  delete executable;
}

tailor_status* tailor_executable_save(const tailor_executable* executable, const char* path, size_t path_size) {
  constexpr auto kFunction = "tailor_executable_save";
  if (auto* bad = CheckHandle(kFunction, "executable", executable, HandleKind::kExecutable)) return bad;
  if (auto* bad = CheckPointer(kFunction, "path", path)) return bad;
  return tailor::Guarded([&]() -> Failure {
    std::string name;
    if (Failure f = tailor::ReadPath(path, path_size, &name); !f.ok()) return f;
    return tailor::SaveArtifact(executable->artifact, name);
  });
}

tailor_status* tailor_executable_save_memory(const tailor_executable* executable, void* data, size_t capacity,
                                             size_t* size) {
  constexpr auto kFunction = "tailor_executable_save_memory";
  if (auto* bad = CheckHandle(kFunction, "executable", executable, HandleKind::kExecutable)) return bad;
  if (auto* bad = CheckPointer(kFunction, "size", size)) return bad;
  return tailor::Guarded([&]() -> Failure {
    const uint64_t bytes = tailor::SavedBytes(executable->artifact);
    if (data != nullptr && capacity < bytes) {
      return {Code::kInvalidArgument,
              "the artifact has " + std::to_string(bytes) + " bytes, but there is room for " + std::to_string(capacity),
              ""};
    }
    if (data != nullptr) {
      Failure f = tailor::SaveArtifactTo(executable->artifact, {static_cast<std::byte*>(data), bytes});
      if (!f.ok()) return f;
    }
    *size = bytes;
    return {};
  });
}
