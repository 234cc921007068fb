#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "serialization/reader.h"

namespace tailor {
namespace {

Failure CannotWrite(const std::string& path, int error) {
  char text[128];
  return {Code::kFailedPrecondition, "cannot write " + path + ": " + strerror_r(error, text, sizeof(text)), ""};
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

// Creates a new file beside `path` and puts its name into `name`; -1 and errno on failure.
int CreateBeside(const std::string& path, std::string* name) {
  static std::atomic<uint32_t> next{0};
  for (;;) {
    *name = path + ".tmp." + std::to_string(getpid()) + "." + std::to_string(next++);
    const int file = open(name->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
}

// Makes the rename itself durable. Where a directory cannot be opened for that, the file is still whole.
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
  std::string temporary;
  const int file = CreateBeside(path, &temporary);
  if (file < 0) return CannotWrite(path, errno);
  const bool written =
      WriteAll(file, artifact.prefix.span()) && WriteAll(file, artifact.constants.bytes()) && fsync(file) == 0;
  int error = errno;
  close(file);
  if (written && rename(temporary.c_str(), path.c_str()) == 0) {
    SyncDirectoryOf(path);
    return {};
  }
  if (written) error = errno;
  unlink(temporary.c_str());
  return CannotWrite(path, error);
}

}  // namespace tailor
