#include "codegen/cuda/ptx/assemble.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "graph/status_macros.h"

extern char** environ;

namespace tailor::cuda {
namespace {

namespace fs = std::filesystem;

// A new folder in the system's temporary one, removed with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "tailor-ptx-XXXXXX").string();
    if (!error && mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  bool exists() const { return !path_.empty(); }
  std::string File(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Runs arguments[0] with stdout and stderr in file `log`; returns its exit status.
absl::StatusOr<int> RunProcess(const std::vector<std::string>& arguments, const std::string& log) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failure = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return absl::InternalError(absl::StrCat("cannot run ", arguments[0], ": ", std::strerror(failure)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return absl::InternalError(absl::StrCat("lost process ", arguments[0]));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class Ptxas : public Assembler {
 public:
  explicit Ptxas(std::string path) : path_(std::move(path)) {}

  std::string name() const override { return absl::StrCat("ptxas ", path_); }

  absl::StatusOr<Assembly> Assemble(absl::string_view ptx, const CudaTarget& target) const override {
    const TemporaryFolder folder;
    if (!folder.exists()) return absl::InternalError("cannot make a temporary folder for ptxas");
    const std::string source = folder.File("kernel.ptx"), cubin = folder.File("kernel.cubin"), log = folder.File("log");
    std::ofstream(source, std::ios::binary) << ptx;
    TAILOR_ASSIGN_OR_RETURN(int status, RunProcess({path_, "-v", "-arch", target.name, "-o", cubin, source}, log));
    Assembly assembly{.log = ReadFile(log)};
    if (status != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("ptxas -arch ", target.name, " exits ", status, ": ", assembly.log));
    }
    const std::string bytes = ReadFile(cubin);
    const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
    assembly.cubin.assign(first, first + bytes.size());
    return assembly;
  }

 private:
  const std::string path_;
};

}  // namespace

absl::StatusOr<std::string> FindPtxas() {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("PATH")) folders = absl::StrSplit(path, ':', absl::SkipEmpty());
  if (const char* home = std::getenv("CUDA_HOME")) folders.push_back(absl::StrCat(home, "/bin"));
  folders.push_back("/usr/local/cuda/bin");
  for (const std::string& folder : folders) {
    const std::string candidate = absl::StrCat(folder, "/ptxas");
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return absl::NotFoundError(absl::StrCat("no ptxas in ", absl::StrJoin(folders, ", ")));
}

std::unique_ptr<Assembler> MakePtxas(std::string path) { return std::make_unique<Ptxas>(std::move(path)); }

absl::StatusOr<std::vector<std::byte>> AssemblePtx(const std::string& ptxas, absl::string_view ptx,
                                                   const CudaTarget& target) {
  TAILOR_ASSIGN_OR_RETURN(Assembly assembly, Ptxas(ptxas).Assemble(ptx, target));
  return std::move(assembly.cubin);
}

}  // namespace tailor::cuda
