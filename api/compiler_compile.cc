// Glue of tailor/compiler.h: compilation. A compiled graph is written as an artifact and loaded from these bytes, so
// that there is one load path.
#include "codegen/driver/compile.h"

#include <climits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/compiler_arguments.h"
#include "api/compiler_status.h"
#include "api/graph_handle.h"
#include "api/isolated/isolated_compile.h"
#include "api/run_constants.h"
#include "codegen/contract/cost_profile.h"
#include "codegen/link/link.h"
#include "graph/status_macros.h"
#include "serialization/writer.h"

namespace tailor {
namespace {

absl::StatusOr<driver::Denormals> DenormalsOf(const char* function, int64_t given) {
  switch (given) {
    case TAILOR_DENORMALS_AUTO:
      return driver::Denormals::kAuto;
    case TAILOR_DENORMALS_KEEP:
      return driver::Denormals::kKeep;
    case TAILOR_DENORMALS_FLUSH:
      return driver::Denormals::kFlush;
    default:
      return absl::InvalidArgumentError(absl::StrCat(function, ": options.denormals is ", given, ", not 0, 1 or 2"));
  }
}

absl::StatusOr<driver::CompileOptions> ReadCompileOptions(const char* function, const tailor_compile_options& given) {
  driver::CompileOptions options;
  if (given.target_count > 0) TAILOR_RETURN_IF_ERROR(CheckPresent(function, "options.targets", given.targets));
  for (size_t i = 0; i < given.target_count; ++i) {
    TAILOR_ASSIGN_OR_RETURN(std::string target, ReadString(function, "options.targets", given.targets[i], SIZE_MAX));
    options.targets.push_back(std::move(target));
  }
  for (size_t i = 0; i < given.donated_count; ++i) {
    TAILOR_RETURN_IF_ERROR(CheckPresent(function, "options.donated", given.donated));
    TAILOR_ASSIGN_OR_RETURN(std::string input, ReadString(function, "options.donated", given.donated[i], SIZE_MAX));
    options.donated.push_back(std::move(input));
  }
  for (size_t i = 0; i < given.without_count; ++i) {
    TAILOR_RETURN_IF_ERROR(CheckPresent(function, "options.without", given.without));
    TAILOR_ASSIGN_OR_RETURN(std::string pass, ReadString(function, "options.without", given.without[i], SIZE_MAX));
    options.without.push_back(std::move(pass));
  }
  if (given.max_versions == 0 || given.max_code_bytes == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(function, ": options.max_versions and options.max_code_bytes are at ", "least 1"));
  }
  if (given.optimize != 0 && given.optimize != 1) {
    return absl::InvalidArgumentError(absl::StrCat(function, ": options.optimize is ", given.optimize, ", not 0 or 1"));
  }
  options.offer_products = given.offer_products != 0;
  options.allow_tf32 = given.allow_tf32 != 0;
  options.direct_convolutions = given.direct_convolutions != 0;
  options.optimize = given.optimize != 0;
  TAILOR_ASSIGN_OR_RETURN(options.denormals, DenormalsOf(function, given.denormals));
  options.bounds = {given.max_versions, given.max_code_bytes};
  options.threads =
      static_cast<int>(std::min<uint64_t>(given.threads > 0 ? given.threads : tailor_usable_cpus(), INT_MAX));
  options.memory_limit = given.memory_limit;
  options.run_constants = RunConstants;
  if (given.cost_profile != nullptr) {
    auto profile = std::make_shared<CostProfile>();
    const std::string wrong = ParseCostProfile(TextOf(given.cost_profile, given.cost_profile_size), profile.get());
    if (!wrong.empty()) return absl::InvalidArgumentError(absl::StrCat(function, ": options.cost_profile: ", wrong));
    options.cost_profile = std::move(profile);
  }
  if (given.progress != nullptr) {
    options.progress = [progress = given.progress, user = given.progress_user](const char* phase, double done) {
      return progress(user, phase, done) != 0;
    };
  }
  return options;
}

// The error of loading for a device that does not exist.
absl::Status CheckDevice(const tailor_runtime* runtime, const tailor_compile_options& options) {
  if (options.device == TAILOR_DEVICE_CPU) return absl::OkStatus();
  if (options.device != TAILOR_DEVICE_CUDA) {
    return absl::InvalidArgumentError(absl::StrCat("device is ", options.device, ", not 0 or 1"));
  }
  const auto count = static_cast<int64_t>(tailor_runtime_device_count(runtime)) - 1;  // without the CPU
  if (options.device_ordinal >= 0 && options.device_ordinal < count) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "CUDA device ", options.device_ordinal, " was asked for, but ",
      count > 0 ? absl::StrCat("the devices are 0 to ", count - 1) : tailor_runtime_cuda_absence(runtime)));
}

// Compiles `graph` to artifact bytes; the compiled program is destroyed on return.
absl::Status CompileToBytes(const char* function, const tailor_graph* graph, const tailor_compile_options* options,
                            AlignedBytes* out) {
  TAILOR_RETURN_IF_ERROR(CheckGraph(function, graph));
  const Reader<tailor_graph> reader(*graph);
  TAILOR_RETURN_IF_ERROR(CheckHeld(function, *graph, reader));
  if (graph->graph.outputs().empty()) {
    return absl::FailedPreconditionError(absl::StrCat(function, ": graph \"", graph->graph.name(), "\" has no output"));
  }
  TAILOR_ASSIGN_OR_RETURN(tailor_compile_options given,
                          OptionsOrDefaults(function, options, tailor_compile_options_init));
  TAILOR_ASSIGN_OR_RETURN(driver::CompileOptions compile, ReadCompileOptions(function, given));
  if (given.isolated != 0) return isolated::Compile(graph->graph, given, out);
  TAILOR_ASSIGN_OR_RETURN(driver::CompiledProgram compiled, driver::Compile(graph->graph, compile));
  const auto release = [&](size_t constant) { compiled.constants[constant] = nullptr; };
  return FromC(ToC(WriteArtifact(compiled.program, {.secret_key = given.secret_key, .release = release}, out)));
}

}  // namespace
}  // namespace tailor

using tailor::AlignedBytes;
using tailor::CheckPresent;

tailor_status* tailor_graph_compile(const tailor_graph* graph, const tailor_runtime* runtime,
                                    const tailor_compile_options* options, tailor_executable** out) {
  constexpr const char* kFunction = "tailor_graph_compile";
  return tailor::AtBoundary([&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(CheckPresent(kFunction, "out", out));
    if (runtime != nullptr) {
      TAILOR_RETURN_IF_ERROR(
          tailor::FromC(tailor::CheckHandle(kFunction, "runtime", runtime, tailor::HandleKind::kRuntime)));
    }
    TAILOR_ASSIGN_OR_RETURN(tailor_compile_options given,
                            tailor::OptionsOrDefaults(kFunction, options, tailor_compile_options_init));
    TAILOR_RETURN_IF_ERROR(tailor::CheckDevice(runtime, given));
    tailor_load_options load;
    tailor_load_options_init(&load);
    load.device = given.device;
    load.device_ordinal = given.device_ordinal;
    auto bytes = std::make_unique<AlignedBytes>();
    TAILOR_RETURN_IF_ERROR(tailor::CompileToBytes(kFunction, graph, options, bytes.get()));
    const void* data = bytes->data();
    const size_t size = bytes->size();
    auto release = [](void* artifact) { delete static_cast<AlignedBytes*>(artifact); };
    return tailor::FromC(tailor_executable_load_memory(runtime, data, size, &load, release, bytes.release(), out));
  });
}

tailor_status* tailor_graph_compile_artifact(const tailor_graph* graph, const tailor_compile_options* options,
                                             void (*take)(void* user, const void* data, size_t size), void* user) {
  constexpr const char* kFunction = "tailor_graph_compile_artifact";
  return tailor::AtBoundary([&]() -> absl::Status {
    TAILOR_RETURN_IF_ERROR(CheckPresent(kFunction, "take", reinterpret_cast<const void*>(take)));
    AlignedBytes bytes;
    TAILOR_RETURN_IF_ERROR(tailor::CompileToBytes(kFunction, graph, options, &bytes));
    take(user, bytes.data(), bytes.size());
    return absl::OkStatus();
  });
}

uint64_t tailor_compiler_modules_emitted(void) { return tailor::ModulesEmitted(); }
