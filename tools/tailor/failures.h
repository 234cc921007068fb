// Failures of the command line tool, and the exit codes of its process. Failures of the library are StatusErrors
// (tools/handles.h).
#ifndef TAILOR_TOOLS_TAILOR_FAILURES_H_
#define TAILOR_TOOLS_TAILOR_FAILURES_H_

#include <cstdint>
#include <stdexcept>
#include <string>

namespace tailor {

enum ExitCode : int {
  kExitSuccess = 0,
  kExitNo = 1,      // the answer is no: outputs differ from those expected, a file fails verification
  kExitUsage = 2,   // the command line is wrong
  kExitFile = 3,    // a file cannot be read or written, or is not what it should be
  kExitStatus = 4,  // the library refused, with the status that the message names
  kExitInterrupted = 130,
};

// The command line is wrong: an option, or a name or value in it.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A file cannot be read or written, or is malformed. `code`: TAILOR_NOT_FOUND, TAILOR_DATA_LOSS, ...
struct FileError : std::runtime_error {
  FileError(int32_t code, const std::string& message) : std::runtime_error(message), code(code) {}
  int32_t code;
};

// FileError of a system call that failed with `error`.
[[noreturn]] void FailToRead(const std::string& path, int error);
[[noreturn]] void FailToWrite(const std::string& path, int error);

// SIGINT or SIGTERM ended the command.
struct InterruptedError : std::runtime_error {
  InterruptedError() : std::runtime_error("interrupted") {}
};

// "INVALID_ARGUMENT" for TAILOR_INVALID_ARGUMENT.
const char* StatusName(int32_t code);

// Prints "tailor: <STATUS>: <message>" to stderr for the exception in flight. Returns the process's exit code.
int ReportFailure();

}  // namespace tailor

#endif  // TAILOR_TOOLS_TAILOR_FAILURES_H_
