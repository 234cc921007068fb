// Failure: the runtime's error type. No exceptions, no Abseil. The C glue converts it to tailor_status (the one
// conversion point, api/runtime_status.cc).
#ifndef TAILOR_EXEC_FAILURE_H_
#define TAILOR_EXEC_FAILURE_H_

#include <cstdint>
#include <string>
#include <utility>

namespace tailor {

enum class Code : int32_t {  // numbers as in absl::StatusCode and TAILOR_* of the C ABI
  kOk = 0,
  kCancelled = 1,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kDataLoss = 15,
};

struct [[nodiscard]] Failure {
  Code code = Code::kOk;
  std::string message;
  std::string node;
  bool ok() const { return code == Code::kOk; }
};

}  // namespace tailor

#endif  // TAILOR_EXEC_FAILURE_H_
