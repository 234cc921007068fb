// The byte stream between a test and program_runner: numbers and strings, written and read in the same order.
#ifndef TAILOR_TESTS_SUPPORT_TEST_MESSAGES_H_
#define TAILOR_TESTS_SUPPORT_TEST_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/support/device.h"

namespace tailor {

enum class RunnerCall : int64_t { kLoad = 1, kRun, kRunInto };

// A message: appended to on one side, taken from on the other. Both are this program's own: a short one aborts.
class TestMessage {
 public:
  TestMessage() = default;
  explicit TestMessage(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  void Put(int64_t number);
  void Put(std::span<const std::byte> bytes);
  void Put(const std::string& text) { Put(std::as_bytes(std::span(text))); }
  void Put(const absl::Status& status);
  void Put(const std::vector<HostTensor>& tensors);

  int64_t Number();
  std::vector<std::byte> Bytes();
  std::string Text();
  absl::Status Status();
  std::vector<HostTensor> Tensors();

  // False where the stream ended.
  bool SendTo(int fd) const;
  bool ReceiveFrom(int fd);

 private:
  std::vector<std::byte> bytes_;
  size_t taken_ = 0;
};

}  // namespace tailor

#endif  // TAILOR_TESTS_SUPPORT_TEST_MESSAGES_H_
