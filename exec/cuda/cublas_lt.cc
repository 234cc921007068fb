#include "exec/cuda/cublas_lt.h"

#include <dlfcn.h>

#include <cstdlib>

namespace tailor {
namespace {

// "" if `library` has all functions, else the first missing one.
std::string Bind(void* library, CublasLt* out) {
  std::string missing;
  const auto bind = [&](const char* symbol, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, symbol));
    if (*function == nullptr && missing.empty()) missing = symbol;
  };
#define TAILOR_CUBLAS_LT_BIND(name, result, parameters) bind("cublasLt" #name, &out->name);
  TAILOR_CUBLAS_LT_FUNCTIONS(TAILOR_CUBLAS_LT_BIND)
#undef TAILOR_CUBLAS_LT_BIND
  return missing;
}

// The reason why `path` cannot be used; "" if it is loaded.
std::string LoadFrom(const std::string& path, CublasLt* out) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return reason != nullptr ? reason : path;
  }
  const std::string missing = Bind(library, out);
  return missing.empty() ? "" : path + " has no " + missing;
}

}  // namespace

std::vector<std::string> CublasLtPaths() {
  const char* given = std::getenv("TAILOR_CUBLASLT");
  if (given != nullptr && *given != '\0') return {given};
  std::vector<std::string> paths;
  for (const char* folder : {"", "/usr/local/cuda/lib64/"}) {
    for (const char* version : {"13", "12"}) paths.push_back(std::string(folder) + "libcublasLt.so." + version);
  }
  return paths;
}

Failure CublasLt::Load(const std::vector<std::string>& paths, CublasLt* out) {
  std::string reasons;
  for (const std::string& path : paths) {
    CublasLt library;
    const std::string reason = LoadFrom(path, &library);
    if (reason.empty()) {
      *out = library;
      return {};
    }
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  return {Code::kFailedPrecondition, "cuBLASLt cannot be loaded: " + reasons, ""};
}

std::string CublasLt::VersionText() const {
  const size_t version = GetVersion();  // 130002 is 13.0.2
  return "cuBLASLt " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

Failure CublasLt::FailureOf(cublas_lt::Status status, const char* call, const std::string& purpose) const {
  if (status == cublas_lt::kSuccess) return {};
  const char* name = GetStatusName(status);
  return {status == cublas_lt::kAllocFailed ? Code::kResourceExhausted : Code::kInternal,
          std::string(call) + " for " + purpose + ": " + (name != nullptr ? name : "an unknown error") + " (" +
              std::to_string(status) + ")",
          ""};
}

}  // namespace tailor
