#include "codegen/cuda/ptx/nv_jit_link.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/status_macros.h"

namespace tailor::cuda {
namespace {

// Types and values of nvJitLink.h; the build needs no NVIDIA header.
using Handle = struct NvJitLinkState*;
using Result = int;
constexpr Result kSuccess = 0;
constexpr int kInputPtx = 2;

struct Symbols {
  Result (*create)(Handle*, uint32_t count, const char** options) = nullptr;
  Result (*destroy)(Handle*) = nullptr;
  Result (*add_data)(Handle, int type, const void* data, size_t bytes, const char* name) = nullptr;
  Result (*complete)(Handle) = nullptr;
  Result (*cubin_size)(Handle, size_t*) = nullptr;
  Result (*cubin)(Handle, void*) = nullptr;
  Result (*error_log_size)(Handle, size_t*) = nullptr;
  Result (*error_log)(Handle, char*) = nullptr;
  Result (*info_log_size)(Handle, size_t*) = nullptr;
  Result (*info_log)(Handle, char*) = nullptr;
  Result (*version)(unsigned* major, unsigned* minor) = nullptr;
};

template <typename Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// The name of the first missing symbol, or nullptr.
const char* FindAll(void* library, Symbols& s) {
  if (!Find(library, "nvJitLinkCreate", s.create)) return "nvJitLinkCreate";
  if (!Find(library, "nvJitLinkDestroy", s.destroy)) return "nvJitLinkDestroy";
  if (!Find(library, "nvJitLinkAddData", s.add_data)) return "nvJitLinkAddData";
  if (!Find(library, "nvJitLinkComplete", s.complete)) return "nvJitLinkComplete";
  if (!Find(library, "nvJitLinkGetLinkedCubinSize", s.cubin_size)) return "nvJitLinkGetLinkedCubinSize";
  if (!Find(library, "nvJitLinkGetLinkedCubin", s.cubin)) return "nvJitLinkGetLinkedCubin";
  if (!Find(library, "nvJitLinkGetErrorLogSize", s.error_log_size)) return "nvJitLinkGetErrorLogSize";
  if (!Find(library, "nvJitLinkGetErrorLog", s.error_log)) return "nvJitLinkGetErrorLog";
  if (!Find(library, "nvJitLinkGetInfoLogSize", s.info_log_size)) return "nvJitLinkGetInfoLogSize";
  if (!Find(library, "nvJitLinkGetInfoLog", s.info_log)) return "nvJitLinkGetInfoLog";
  if (!Find(library, "nvJitLinkVersion", s.version)) return "nvJitLinkVersion";
  return nullptr;
}

// One link by the library.
class Link {
 public:
  Link(const Symbols& symbols, const CudaTarget& target) : symbols_(symbols) {
    const std::string arch = absl::StrCat("-arch=", target.name);
    const char* options[] = {arch.c_str(), "-verbose"};
    if (symbols.create(&handle_, 2, options) != kSuccess) handle_ = nullptr;
  }
  ~Link() {
    if (handle_ != nullptr) symbols_.destroy(&handle_);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  bool Run(const std::string& ptx) {
    return handle_ != nullptr &&
           symbols_.add_data(handle_, kInputPtx, ptx.c_str(), ptx.size() + 1, "kernels") == kSuccess &&
           symbols_.complete(handle_) == kSuccess;
  }
  bool Get(std::vector<std::byte>& cubin) {
    size_t bytes = 0;
    if (symbols_.cubin_size(handle_, &bytes) != kSuccess) return false;
    cubin.resize(bytes);
    return symbols_.cubin(handle_, cubin.data()) == kSuccess;
  }
  std::string InfoLog() { return Log(symbols_.info_log_size, symbols_.info_log); }
  std::string ErrorLog() { return Log(symbols_.error_log_size, symbols_.error_log); }

 private:
  std::string Log(Result (*size)(Handle, size_t*), Result (*text)(Handle, char*)) {
    size_t bytes = 0;
    if (handle_ == nullptr || size(handle_, &bytes) != kSuccess) return "";
    std::string log(bytes + 1, '\0');
    if (text(handle_, log.data()) != kSuccess) return "";
    log.resize(log.find('\0'));
    return log;
  }

  const Symbols& symbols_;
  Handle handle_ = nullptr;
};

class NvJitLink : public Assembler {
 public:
  explicit NvJitLink(const Symbols& symbols) : symbols_(symbols) {}

  std::string name() const override {
    unsigned major = 0, minor = 0;
    symbols_.version(&major, &minor);
    return absl::StrCat("nvJitLink ", major, ".", minor);
  }

  absl::StatusOr<Assembly> Assemble(absl::string_view ptx, const CudaTarget& target) const override {
    Link link(symbols_, target);
    Assembly assembly;
    if (!link.Run(std::string(ptx)) || !link.Get(assembly.cubin)) {
      return absl::InvalidArgumentError(absl::StrCat(name(), " refuses PTX for ", target.name, ": ", link.ErrorLog()));
    }
    assembly.log = link.InfoLog();
    return assembly;
  }

 private:
  const Symbols symbols_;
};

std::vector<std::string> Candidates() {
  constexpr const char* kNames[] = {"libnvJitLink.so.13", "libnvJitLink.so.12"};
  std::vector<std::string> folders = {""};
  if (const char* given = std::getenv("TAILOR_NVJITLINK")) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(given, ignored)) return {given};
    folders = {absl::StrCat(given, "/")};
  } else {
    if (const char* home = std::getenv("CUDA_HOME")) folders.push_back(absl::StrCat(home, "/lib64/"));
    folders.push_back("/usr/local/cuda/lib64/");
  }
  std::vector<std::string> candidates;
  for (const std::string& folder : folders) {
    for (const char* name : kNames) candidates.push_back(absl::StrCat(folder, name));
  }
  return candidates;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Assembler>> LoadNvJitLink() {
  std::vector<std::string> tried;
  for (const std::string& candidate : Candidates()) {
    void* library = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    Symbols symbols;
    const char* missing = library == nullptr ? nullptr : FindAll(library, symbols);
    if (library != nullptr && missing == nullptr) return std::make_unique<NvJitLink>(symbols);
    tried.push_back(missing == nullptr ? candidate : absl::StrCat(candidate, " (has no ", missing, ")"));
  }
  return absl::NotFoundError(absl::StrCat("no nvJitLink: tried ", absl::StrJoin(tried, ", ")));
}

}  // namespace tailor::cuda
