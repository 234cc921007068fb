#include "tools/tailor/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>

#include "tailor/runtime.h"
#include "tools/tailor/failures.h"

namespace tailor {
namespace {

bool WriteAll(int file, std::string_view content) {
  for (size_t at = 0; at < content.size();) {
    const ssize_t written = write(file, content.data() + at, content.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    at += static_cast<size_t>(written);
  }
  return true;
}

// The path without symbolic links; `path` itself if it does not exist.
std::string Resolved(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), std::free);
  return real ? real.get() : path;
}

// Scope guard: SIGINT and SIGTERM wait, so that no temporary file is left behind.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  SignalsHeld(const SignalsHeld&) = delete;
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

void WriteDirectly(const std::string& path, std::string_view content) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) FailToWrite(path, errno);
  const bool written = WriteAll(file, content);
  const int error = errno;
  close(file);
  if (!written) FailToWrite(path, error);
}

}  // namespace

std::string ReadFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) FailToRead(path, errno);
  std::string content;
  char part[1 << 16];
  ssize_t size;
  while ((size = read(file, part, sizeof(part))) != 0) {
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) break;
    content.append(part, static_cast<size_t>(size));
  }
  const int error = errno;
  close(file);
  if (size < 0) FailToRead(path, error);
  return content;
}

void WriteFile(const std::string& path, std::string_view content, unsigned mode) {
  const std::string target = Resolved(path);
  struct stat status;
  const bool exists = stat(target.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) FailToWrite(path, EISDIR);
  if (exists && !S_ISREG(status.st_mode)) return WriteDirectly(target, content);
  const SignalsHeld held;
  const std::string temporary = target + ".tmp." + std::to_string(getpid());
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0) FailToWrite(path, errno);
  bool written = (!exists || fchmod(file, status.st_mode & 0777) == 0) && WriteAll(file, content) && fsync(file) == 0;
  int error = errno;
  close(file);
  if (written && rename(temporary.c_str(), target.c_str()) != 0) written = false, error = errno;
  if (written) return;
  unlink(temporary.c_str());
  FailToWrite(path, error);
}

}  // namespace tailor
