#include "exec/cuda/driver.h"

#include <dlfcn.h>

#include <cstdlib>

namespace tailor {
namespace {

Failure Absent(const std::string& reason) { return {Code::kFailedPrecondition, reason, ""}; }

template <typename FunctionPointer>
bool Bind(void* library, const char* symbol, FunctionPointer* out) {
  *out = reinterpret_cast<FunctionPointer>(dlsym(library, symbol));
  return *out != nullptr;
}

}  // namespace

std::string CudaDriverPath() {
  const char* path = std::getenv("TAILOR_CUDA_DRIVER");
  return path != nullptr && *path != '\0' ? path : "libcuda.so.1";
}

Failure CudaDriver::Load(const std::string& path, CudaDriver* out) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return Absent("the CUDA driver cannot be loaded: " + std::string(reason != nullptr ? reason : path.c_str()));
  }
  CudaDriver driver;
#define TAILOR_CUDA_BIND(name, symbol, parameters) \
  if (!Bind(library, symbol, &driver.name)) return Absent(path + " has no " symbol ": it is older than CUDA 11.2");
  TAILOR_CUDA_FUNCTIONS(TAILOR_CUDA_BIND)
#undef TAILOR_CUDA_BIND
  driver.has_graphs = true;
#define TAILOR_CUDA_BIND(name, symbol, parameters) driver.has_graphs &= Bind(library, symbol, &driver.name);
  TAILOR_CUDA_GRAPH_FUNCTIONS(TAILOR_CUDA_BIND)
#undef TAILOR_CUDA_BIND
#define TAILOR_CUDA_BIND(name, symbol, parameters) Bind(library, symbol, &driver.name);
  TAILOR_CUDA_LATER_FUNCTIONS(TAILOR_CUDA_BIND)
#undef TAILOR_CUDA_BIND
  Bind(library, "tailor_emulator_load_ir", &driver.LoadIr);
  const Failure failed = CudaFailure(driver, driver.Init(0), "cuInit", "the CUDA driver " + path);
  if (!failed.ok()) return Absent(failed.message);
  *out = driver;
  return {};
}

Failure CudaFailure(const CudaDriver& driver, cuda::Result result, const char* call, const std::string& purpose) {
  if (result == cuda::kSuccess) return {};
  const char *name = nullptr, *text = nullptr;
  if (driver.GetErrorName(result, &name) != cuda::kSuccess || name == nullptr) name = "an unknown error";
  if (driver.GetErrorString(result, &text) != cuda::kSuccess || text == nullptr) text = "";
  return {result == cuda::kOutOfMemory ? Code::kResourceExhausted : Code::kInternal,
          std::string(call) + " for " + purpose + ": " + name + " (" + std::to_string(result) + ")" +
              (*text != '\0' ? std::string(": ") + text : ""),
          ""};
}

}  // namespace tailor
