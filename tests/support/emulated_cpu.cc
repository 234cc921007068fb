#include "tests/support/emulated_cpu.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/test_messages.h"

namespace tailor {
namespace {

class RunnerProgram : public TestProgram {
 public:
  explicit RunnerProgram(std::string cpu) : cpu_(std::move(cpu)) {}
  ~RunnerProgram() override {
    if (process_ <= 0) return;
    close(calls_);
    close(answers_);
    waitpid(process_, nullptr, 0);
  }

  absl::Status Start() {
    int calls[2], answers[2];
    if (pipe2(calls, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0) return absl::InternalError("no pipe");
    signal(SIGPIPE, SIG_IGN);  // a runner that died is seen by what write returns
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, calls[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, answers[1], STDOUT_FILENO);
    std::string qemu = "qemu-x86_64", option = "-cpu", runner = TAILOR_PROGRAM_RUNNER;
    char* arguments[] = {qemu.data(), option.data(), cpu_.data(), runner.data(), nullptr};
    const int error = posix_spawnp(&process_, qemu.c_str(), &files, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    close(calls[0]);
    close(answers[1]);
    calls_ = calls[1];
    answers_ = answers[0];
    if (error != 0) process_ = -1;
    return error == 0 ? absl::OkStatus() : absl::UnavailableError(absl::StrCat(qemu, ": ", strerror(error)));
  }

  absl::Status Load(const AlignedBytes& artifact, const std::string& target) {
    TestMessage call;
    call.Put(static_cast<int64_t>(RunnerCall::kLoad));
    call.Put(target);
    call.Put(artifact.span());
    const absl::Status asked = Ask(call);
    return asked.ok() ? call.Status() : asked;
  }

  absl::StatusOr<std::vector<HostTensor>> Run(const std::vector<HostTensor>& inputs, int threads) override {
    TestMessage call;
    call.Put(static_cast<int64_t>(RunnerCall::kRun));
    call.Put(threads);
    call.Put(inputs);
    if (absl::Status asked = Ask(call); !asked.ok()) return asked;
    if (absl::Status ran = call.Status(); !ran.ok()) return ran;
    return call.Tensors();
  }

  absl::Status RunInto(const std::vector<HostTensor>& inputs, int threads, std::vector<HostTensor>* outputs) override {
    TestMessage call;
    call.Put(static_cast<int64_t>(RunnerCall::kRunInto));
    call.Put(threads);
    call.Put(inputs);
    call.Put(*outputs);
    if (absl::Status asked = Ask(call); !asked.ok()) return asked;
    const absl::Status ran = call.Status();
    *outputs = call.Tensors();
    return ran;
  }

 private:
  // Sends `message` and replaces it by the answer.
  absl::Status Ask(TestMessage& message) {
    if (process_ <= 0) return absl::InternalError("the runner ended before");
    if (message.SendTo(calls_) && message.ReceiveFrom(answers_)) return absl::OkStatus();
    int status = 0;
    waitpid(std::exchange(process_, -1), &status, 0);
    close(calls_);
    close(answers_);
    if (WIFSIGNALED(status))
      return absl::InternalError(absl::StrCat("on qemu -cpu ", cpu_, ": ", strsignal(WTERMSIG(status))));
    return absl::InternalError(absl::StrCat("on qemu -cpu ", cpu_, ": the runner ended with ", WEXITSTATUS(status)));
  }

  std::string cpu_;
  pid_t process_ = -1;
  int calls_ = -1, answers_ = -1;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TestProgram>> LoadOnEmulatedCpu(const EmulatedCpu& cpu, const AlignedBytes& artifact,
                                                               const std::string& target) {
  auto program = std::make_unique<RunnerProgram>(cpu.model);
  if (absl::Status started = program->Start(); !started.ok()) return started;
  if (absl::Status loaded = program->Load(artifact, target); !loaded.ok()) return loaded;
  return std::unique_ptr<TestProgram>(std::move(program));
}

}  // namespace tailor
