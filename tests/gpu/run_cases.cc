#include "tests/gpu/run_cases.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <exception>

#include "absl/strings/str_cat.h"
#include "tests/gpu/import_model.h"

namespace tailor {
namespace {

constexpr unsigned kSecondsPerCase = 120;

std::string RunGuarded(const NodeCase& node_case, const TestDevice& device) {
  try {
    return RunNodeCase(node_case, device, ImportModel);
  } catch (const std::exception& thrown) {
    return absl::StrCat("exception: ", thrown.what());
  }
}

// Writes a line for each case from `first` on, until one fails: what is wrong, nothing where it passed.
[[noreturn]] void RunChild(const std::vector<NodeCase>& cases, size_t first, const TestDevice& device, int pipe) {
  bool passed = true;
  for (size_t i = first; i < cases.size() && passed; ++i) {
    alarm(kSecondsPerCase);
    std::string reason = RunGuarded(cases[i], device);
    passed = reason.empty();
    std::replace(reason.begin(), reason.end(), '\n', ' ');
    reason += '\n';
    if (write(pipe, reason.data(), reason.size()) != static_cast<ssize_t>(reason.size())) _exit(1);
  }
  _exit(0);
}

std::string EndOf(int status) {
  if (!WIFSIGNALED(status)) return absl::StrCat("the process ended with status ", WEXITSTATUS(status));
  return WTERMSIG(status) == SIGALRM ? absl::StrCat("it took longer than ", kSecondsPerCase, " seconds")
                                     : absl::StrCat("the process was ended by signal ", WTERMSIG(status));
}

}  // namespace

void RunCases(const std::vector<NodeCase>& cases, const TestDevice& device,
              const std::function<void(size_t number, const std::string& reason)>& report) {
  for (size_t next = 0; next < cases.size();) {
    int ends[2];
    if (pipe(ends) != 0) return report(next, "no pipe to a child process");
    fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) {
      close(ends[0]);
      close(ends[1]);
      return report(next, "no child process");
    }
    if (child == 0) {
      close(ends[0]);
      RunChild(cases, next, device, ends[1]);
    }
    close(ends[1]);
    FILE* lines = fdopen(ends[0], "r");
    std::string reason;
    for (int c; (c = fgetc(lines)) != EOF;) {
      if (c != '\n') {
        reason += static_cast<char>(c);
        continue;
      }
      report(next++, reason);
      reason.clear();
    }
    fclose(lines);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0 && next < cases.size()) report(next++, EndOf(status));
  }
}

}  // namespace tailor
