#include "tools/tailor/loaded_model.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "serialization/layout.h"
#include "tools/provider_library.h"
#include "tools/tailor/compilation.h"
#include "tools/tailor/cost_profile_file.h"
#include "tools/tailor/failures.h"
#include "tools/tailor/files.h"
#include "tools/tailor/keys.h"
#include "tools/tailor/figures.h"

namespace tailor {
namespace {

struct DeviceChoice {
  int32_t kind = TAILOR_DEVICE_CPU, ordinal = 0;
};

// "cpu", "cuda" or "cuda:1".
DeviceChoice ParseDevice(const std::string& text) {
  if (text == "cpu") return {};
  int ordinal = 0, read = 0;
  const bool numbered = std::sscanf(text.c_str(), "cuda:%d%n", &ordinal, &read) == 1;
  if (text != "cuda" && (!numbered || static_cast<size_t>(read) != text.size())) {
    throw UsageError("--device: \"" + text + "\" is no device: expected cpu, cuda or cuda:1");
  }
  return {TAILOR_DEVICE_CUDA, ordinal};
}

bool IsArtifact(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in.is_open()) FailToRead(path, errno);
  char magic[sizeof(kArtifactMagic)] = {};
  in.read(magic, sizeof(magic));
  return std::memcmp(magic, kArtifactMagic, sizeof(magic)) == 0 || path.ends_with(".tlr");
}

ExecutableHandle LoadFile(const LoadArguments& arguments, DeviceChoice device, const tailor_runtime* runtime) {
  tailor_load_options options;
  tailor_load_options_init(&options);
  options.device = device.kind;
  options.device_ordinal = device.ordinal;
  if (!arguments.target.empty()) options.target = arguments.target.c_str();
  const CostProfileFile costs(arguments.cost_profile);
  costs.SetIn(&options);
  PublicKey key;
  if (!arguments.public_key.empty()) {
    key = ReadPublicKey(arguments.public_key);
    options.public_key = key.data();
  }
  tailor_executable* executable = nullptr;
  const std::string& path = arguments.model.path;
  Check(tailor_executable_load(runtime, path.data(), path.size(), &options, &executable));
  return ExecutableHandle(executable);
}

ExecutableHandle CompileModel(const LoadArguments& arguments, DeviceChoice device, const tailor_runtime* runtime) {
  if (!arguments.public_key.empty()) {
    throw UsageError("--public-key: " + arguments.model.path + " is no artifact: only artifacts are signed");
  }
  const GraphHandle graph = LoadGraph(arguments.model);
  const std::string best = device.kind == TAILOR_DEVICE_CUDA ? "cuda" : "host";
  const char* target = arguments.target.empty() ? best.c_str() : arguments.target.c_str();
  tailor_compile_options options;
  tailor_compile_options_init(&options);
  options.targets = &target;
  options.target_count = 1;
  options.device = device.kind;
  options.device_ordinal = device.ordinal;
  options.offer_products = !arguments.provider.empty();
  const CostProfileFile costs(arguments.cost_profile);
  costs.SetIn(&options);
  tailor_executable* executable = nullptr;
  const CompilationProgress progress(/*forced=*/false, &options);
  InterruptGuard::Check(tailor_graph_compile(graph.get(), runtime, &options, &executable));
  return ExecutableHandle(executable);
}

}  // namespace

RuntimeHandle MakeRuntime(const LoadArguments& arguments) {
  tailor_runtime_options options;
  tailor_runtime_options_init(&options);
  options.cublas_lt = arguments.provider == "cublaslt";
  if (!arguments.provider.empty() && options.cublas_lt == 0) {
    options.product_provider = LoadProvider(arguments.provider);
  }
  std::string choice;
  if (!arguments.provider_choice.empty()) {
    choice = ReadFile(arguments.provider_choice);
    options.product_choice = choice.data();
    options.product_choice_size = choice.size();
  }
  tailor_runtime* runtime = nullptr;
  Check(tailor_runtime_create(&options, &runtime));
  return RuntimeHandle(runtime);
}

LoadedModel LoadModel(const LoadArguments& arguments, const tailor_runtime* runtime) {
  const DeviceChoice device = ParseDevice(arguments.device);
  LoadedModel loaded;
  loaded.path = arguments.model.path;
  loaded.compiled = !IsArtifact(loaded.path);
  const Stopwatch watch;
  loaded.executable = loaded.compiled ? CompileModel(arguments, device, runtime) : LoadFile(arguments, device, runtime);
  loaded.seconds = watch.Seconds();
  loaded.signature = SignatureOf(loaded.executable.get());
  return loaded;
}

}  // namespace tailor
