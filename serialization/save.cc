#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <string_view>
#include <system_error>

#include "serialization/reader.h"

namespace tailor {
namespace {

Failure CannotWrite(const std::string& path, const std::string& reason) {
  return {Code::kFailedPrecondition, "cannot write " + path + ": " + reason, ""};
}

Failure CannotWrite(const std::string& path, int error) {
  return CannotWrite(path, std::generic_category().message(error));
}

const char* KindOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "a directory";
    case S_IFCHR:
      return "a character device";
    case S_IFBLK:
      return "a block device";
    case S_IFIFO:
      return "a FIFO";
    case S_IFSOCK:
      return "a socket";
  }
  return "no regular file";
}

// The file to be replaced.
struct Target {
  std::string path;  // all symbolic links resolved
  bool exists = false;
  mode_t permissions = 0;  // of the existing file
};

// Resolves the symbolic link `path`, relative to the process's working directory.
bool ReadLink(const std::string& path, std::string* to) {
  char text[PATH_MAX];
  const ssize_t size = readlink(path.c_str(), text, sizeof(text));
  if (size < 0) return false;
  const std::string_view named(text, static_cast<size_t>(size));
  const size_t slash = path.rfind('/');
  const bool relative = !named.starts_with('/') && slash != std::string::npos;
  *to = (relative ? path.substr(0, slash + 1) : "") + std::string(named);
  return true;
}

// Finds the file that saving to `path` replaces, following symbolic links: a regular file or nothing yet.
Failure FindTarget(const std::string& path, Target* target) {
  constexpr int kMostLinks = 40;  // the kernel's limit
  target->path = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    struct stat status;
    if (lstat(target->path.c_str(), &status) != 0) return errno == ENOENT ? Failure{} : CannotWrite(path, errno);
    if (S_ISLNK(status.st_mode)) {
      std::string next;
      if (!ReadLink(target->path, &next)) return CannotWrite(path, errno);
      target->path = std::move(next);
      continue;
    }
    if (!S_ISREG(status.st_mode)) {
      const std::string what = target->path == path ? "it" : target->path + ", to which it links,";
      return CannotWrite(path, what + " is " + KindOf(status.st_mode) + ", not a regular file");
    }
    target->exists = true;
    target->permissions = status.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
    return {};
  }
  return CannotWrite(path, ELOOP);
}

bool WriteAll(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return true;
}

// Creates a new file beside the target and stores its name in `name`; -1 and errno on failure.
int CreateBeside(const Target& target, std::string* name) {
  // The temporary file must not be accessible to anyone who cannot access the target.
  const mode_t mode = target.exists ? target.permissions : 0666;
  static std::atomic<uint32_t> next{0};
  for (;;) {
    *name = target.path + ".tmp." + std::to_string(getpid()) + "." + std::to_string(next++);
    const int file = open(name->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file >= 0 || errno != EEXIST) return file;
  }
}

// Makes the rename durable. If the directory cannot be opened for that, the file is still complete.
void SyncDirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int file = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  fsync(file);
  close(file);
}

}  // namespace

Failure SaveArtifact(const Artifact& artifact, const std::string& path) {
  if (Failure f = artifact.constants.CheckUnchanged(); !f.ok()) return f;
  Target target;
  if (Failure f = FindTarget(path, &target); !f.ok()) return f;
  std::string temporary;
  const int file = CreateBeside(target, &temporary);
  if (file < 0) return CannotWrite(path, errno);
  const bool written = (!target.exists || fchmod(file, target.permissions) == 0) &&
                       WriteAll(file, artifact.prefix.span()) && WriteAll(file, artifact.constants.bytes()) &&
                       fsync(file) == 0;
  int error = errno;
  close(file);
  if (written && rename(temporary.c_str(), target.path.c_str()) == 0) {
    SyncDirectoryOf(target.path);
    return {};
  }
  if (written) error = errno;
  unlink(temporary.c_str());
  return CannotWrite(path, error);
}

uint64_t SavedBytes(const Artifact& artifact) {
  return artifact.prefix.span().size() + artifact.constants.bytes().size();
}

Failure SaveArtifactTo(const Artifact& artifact, std::span<std::byte> to) {
  if (Failure f = artifact.constants.CheckUnchanged(); !f.ok()) return f;
  const std::span<const std::byte> constants = artifact.constants.bytes();
  const auto rest = std::ranges::copy(artifact.prefix.span(), to.begin()).out;
  std::ranges::copy(constants, rest);
  return {};
}

}  // namespace tailor
