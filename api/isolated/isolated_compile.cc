#include "api/isolated/isolated_compile.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "api/compiler_status.h"
#include "api/handle.h"
#include "api/isolated/open_file.h"
#include "api/isolated/worker_files.h"
#include "compile_request_generated.h"
#include "graph/status_macros.h"
#include "graph/text.h"

namespace tailor::isolated {
namespace {

using Kind = Message::Kind;

constexpr int kPollMilliseconds = 20;  // longest delay of a cancellation
constexpr size_t kMaxErrorText = 2000;

absl::Status SystemError(absl::string_view what) {
  const int code = errno;
  const std::string text = absl::StrCat("isolated compilation: ", what, ": ", std::strerror(code));
  const bool memory = code == ENOMEM || code == ENOSPC || code == EMFILE || code == ENFILE || code == EAGAIN;
  return memory ? absl::ResourceExhaustedError(text) : absl::FailedPreconditionError(text);
}

// Moves a descriptor above the numbers of the worker's files, so that setting these up overwrites none.
absl::StatusOr<OpenFile> Moved(OpenFile file) {
  OpenFile moved(fcntl(file.number(), F_DUPFD_CLOEXEC, 16));
  if (!moved.open()) return SystemError("a file");
  return moved;
}

absl::StatusOr<OpenFile> MemoryFile(const char* name) {
  OpenFile file(memfd_create(name, MFD_CLOEXEC));
  if (!file.open()) return SystemError("a file in memory");
  return Moved(std::move(file));
}

uint64_t Aligned(uint64_t offset) {
  return (offset + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment;
}

flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>> Strings(
    flatbuffers::FlatBufferBuilder& b, const char* const* texts, size_t count) {
  std::vector<flatbuffers::Offset<flatbuffers::String>> strings;
  for (size_t i = 0; i < count; ++i) strings.push_back(b.CreateString(texts[i]));
  return b.CreateVector(strings);
}

// The request without its header; `places` are the constants' places in their section.
flatbuffers::DetachedBuffer Encode(const std::string& graph, const std::vector<Bytes>& places,
                                   const tailor_compile_options& options) {
  flatbuffers::FlatBufferBuilder b;
  const auto version = b.CreateString(tailor_version());
  const auto text = b.CreateString(graph);
  const auto constants = b.CreateVectorOfStructs(places);
  const auto targets = Strings(b, options.targets, options.target_count);
  const auto donated = Strings(b, options.donated, options.donated_count);
  const auto without = Strings(b, options.without, options.without_count);
  const auto cost_profile =
      options.cost_profile != nullptr ? b.CreateString(TextOf(options.cost_profile, options.cost_profile_size)) : 0;
  const auto key = b.CreateVector(options.secret_key, options.secret_key != nullptr ? 64 : 0);
  CompileRequestBuilder request(b);
  request.add_version(version);
  request.add_memory_limit(options.memory_limit);
  request.add_graph(text);
  request.add_constants(constants);
  request.add_targets(targets);
  request.add_donated(donated);
  request.add_threads(options.threads);
  request.add_secret_key(key);
  request.add_max_versions(options.max_versions);
  request.add_max_code_bytes(options.max_code_bytes);
  request.add_offer_products(options.offer_products);
  request.add_direct_convolutions(options.direct_convolutions);
  request.add_allow_tf32(options.allow_tf32);
  request.add_optimize(options.optimize);
  request.add_without(without);
  request.add_cost_profile(cost_profile);
  request.add_denormals(options.denormals);
  b.Finish(request.Finish());
  return b.Release();
}

absl::StatusOr<OpenFile> WriteRequest(const Graph& graph, const tailor_compile_options& options) {
  const std::vector<const ConstantData*> constants = ConstantsLeftOut(graph);
  std::vector<Bytes> places;
  uint64_t offset = 0;
  for (const ConstantData* constant : constants) {
    places.emplace_back(offset, constant->size);
    offset = Aligned(offset + constant->size);
  }
  const flatbuffers::DetachedBuffer request = Encode(graph.ToText(), places, options);
  const uint64_t section = Aligned(sizeof(RequestHeader) + request.size());
  const RequestHeader header{request.size(), section, section + offset};

  TAILOR_ASSIGN_OR_RETURN(OpenFile file, MemoryFile("tailor-request"));
  const auto write_at = [&](uint64_t at, const void* data, uint64_t size) {
    return lseek(file.number(), static_cast<off_t>(at), SEEK_SET) >= 0 && WriteAll(file.number(), data, size);
  };
  bool written = ftruncate(file.number(), static_cast<off_t>(header.file_bytes)) == 0 &&
                 write_at(0, &header, sizeof(header)) && write_at(sizeof(header), request.data(), request.size());
  for (size_t i = 0; i < constants.size() && written; ++i) {
    written = write_at(section + places[i].offset(), constants[i]->data, constants[i]->size);
  }
  written = written && lseek(file.number(), 0, SEEK_SET) == 0;
  if (!written) return SystemError("its request");
  return file;
}

// A running worker; the destructor kills it if necessary and reaps it.
class Worker {
 public:
  Worker() = default;
  Worker(const Worker&) = delete;
  ~Worker() {
    Kill();
    Wait();
  }

  absl::Status Start(const std::string& path, const OpenFile& request, const OpenFile& artifact,
                     const OpenFile& messages, const OpenFile& errors) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&files, errors.number(), STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&files, request.number(), kRequestFile);
    posix_spawn_file_actions_adddup2(&files, artifact.number(), kArtifactFile);
    posix_spawn_file_actions_adddup2(&files, messages.number(), kMessagePipe);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    std::string name = path;
    char* const arguments[] = {name.data(), nullptr};
    const int failed = posix_spawn(&process_, path.c_str(), &files, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (failed == 0) return absl::OkStatus();
    process_ = -1;
    errno = failed;
    return SystemError(absl::StrCat("the worker \"", path, "\""));
  }

  void Kill() {
    if (process_ > 0) kill(process_, SIGKILL);
  }
  // The signal that ended it; 0 if none, or if the host reaped the process.
  int Wait() {
    if (process_ <= 0) return 0;
    int status = 0;
    pid_t ended;
    do {
      ended = waitpid(process_, &status, 0);
    } while (ended < 0 && errno == EINTR);
    process_ = -1;
    return ended > 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  pid_t process_ = -1;
};

// The end of the worker's standard error.
std::string LastOf(const OpenFile& errors) {
  struct stat file;
  if (fstat(errors.number(), &file) != 0) return "";
  const auto size = static_cast<size_t>(file.st_size), kept = std::min(size, kMaxErrorText);
  std::string text(kept, '\0');
  const ssize_t got = pread(errors.number(), text.data(), kept, static_cast<off_t>(size - kept));
  text.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return std::string(absl::StripAsciiWhitespace(text));
}

absl::Status Died(int signal, const std::string& said) {
  const std::string how = signal == 0 ? "ended without a result" : absl::StrCat("died of signal ", signal);
  const std::string text = absl::StrCat("isolated compilation: the worker ", how, said.empty() ? "" : ": ", said);
  const bool memory = signal == SIGKILL || absl::StrContains(said, "out of memory") ||
                      absl::StrContains(said, "Allocation failed") || absl::StrContains(said, "bad_alloc");
  return memory ? absl::ResourceExhaustedError(text) : absl::InternalError(text);
}

// Reads the worker's messages and calls the caller's progress function.
class Conversation {
 public:
  Conversation(int pipe, const tailor_compile_options& options) : pipe_(pipe), options_(options) {}

  enum class End { kDone, kWithoutAWord };

  // The worker's end, or the error that it reported. CANCELLED at once if the caller cancels.
  absl::StatusOr<End> Listen() {
    for (;;) {
      TAILOR_ASSIGN_OR_RETURN(const bool ready, Wait());
      if (!ready) {
        TAILOR_RETURN_IF_ERROR(Report());
        continue;
      }
      Message message;
      if (!ReadAll(pipe_, &message, sizeof(message))) return End::kWithoutAWord;
      if (message.text_bytes > kMaxTextBytes || message.node_bytes > kMaxTextBytes) return End::kWithoutAWord;
      std::string text(message.text_bytes, '\0'), node(message.node_bytes, '\0');
      if (!ReadAll(pipe_, text.data(), text.size()) || !ReadAll(pipe_, node.data(), node.size())) {
        return End::kWithoutAWord;
      }
      if (message.kind == Kind::kDone) return End::kDone;
      if (message.kind == Kind::kFailed) {
        return FromC(tailor_status_create(message.code, text.c_str(), text.size(), node.c_str(), node.size()));
      }
      phase_ = std::move(text);
      done_ = message.done;
      TAILOR_RETURN_IF_ERROR(Report());
    }
  }

 private:
  absl::StatusOr<bool> Wait() {
    pollfd file{pipe_, POLLIN, 0};
    const int ready = poll(&file, 1, options_.progress != nullptr ? kPollMilliseconds : -1);
    if (ready < 0 && errno != EINTR) return SystemError("its messages");
    return ready > 0;
  }

  absl::Status Report() {
    if (options_.progress == nullptr || options_.progress(options_.progress_user, phase_.c_str(), done_) != 0) {
      return absl::OkStatus();
    }
    return absl::CancelledError(absl::StrCat("compilation was cancelled during ", phase_));
  }

  int pipe_;
  const tailor_compile_options& options_;
  std::string phase_ = "start";
  double done_ = 0;
};

absl::Status ReadArtifact(const OpenFile& file, AlignedBytes* out) {
  struct stat size;
  if (fstat(file.number(), &size) != 0) return SystemError("the artifact");
  AlignedBytes bytes(static_cast<size_t>(size.st_size));
  if (lseek(file.number(), 0, SEEK_SET) != 0 || !ReadAll(file.number(), bytes.data(), bytes.size())) {
    return SystemError("the artifact");
  }
  *out = std::move(bytes);
  return absl::OkStatus();
}

}  // namespace

std::string InstalledWorker() {
  Dl_info library;
  if (dladdr(reinterpret_cast<const void*>(&InstalledWorker), &library) == 0) return "";
  // The folder of the file itself, not of a link to it: /lib may be a link to /usr/lib.
  std::error_code error;
  std::filesystem::path file = std::filesystem::canonical(library.dli_fname, error);
  if (error) file = std::filesystem::absolute(library.dli_fname);
  const std::filesystem::path folder = file.parent_path();
  const std::filesystem::path installed = (folder / TAILOR_WORKER_FROM_LIBRARIES).lexically_normal();
  if (std::filesystem::exists(installed, error)) return installed;
  return folder.parent_path() / "libexec" / "tailor" / "tailor-compile-worker";
}

absl::Status Compile(const Graph& graph, const tailor_compile_options& options, AlignedBytes* out) {
  TAILOR_ASSIGN_OR_RETURN(const OpenFile request, WriteRequest(graph, options));
  TAILOR_ASSIGN_OR_RETURN(const OpenFile artifact, MemoryFile("tailor-artifact"));
  TAILOR_ASSIGN_OR_RETURN(const OpenFile errors, MemoryFile("tailor-errors"));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return SystemError("a pipe");
  const OpenFile ours(ends[0]);
  TAILOR_ASSIGN_OR_RETURN(OpenFile theirs, Moved(OpenFile(ends[1])));

  Worker worker;
  const std::string path = options.worker != nullptr ? options.worker : InstalledWorker();
  TAILOR_RETURN_IF_ERROR(worker.Start(path, request, artifact, theirs, errors));
  theirs.Close();  // otherwise the pipe would not end with the worker
  TAILOR_ASSIGN_OR_RETURN(const Conversation::End end, Conversation(ours.number(), options).Listen());
  const int signal = worker.Wait();
  if (end == Conversation::End::kWithoutAWord) return Died(signal, LastOf(errors));
  return ReadArtifact(artifact, out);
}

}  // namespace tailor::isolated
