// Contexts of kernels that poll, for tests that call kernels without a session.
#ifndef TAILOR_TESTS_CODEGEN_CPU_POLL_COUNTER_H_
#define TAILOR_TESTS_CODEGEN_CPU_POLL_COUNTER_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "exec/host_abi.h"

namespace tailor {

// The value of KernelParameter::kContext: a run that is interrupted after `polls` polls.
class PollCounter {
 public:
  PollCounter() = default;  // a run that nobody interrupts
  explicit PollCounter(int polls) : polls_(polls) {
    context_.interrupt = 1;
    context_.interrupted = Ask;
  }
  PollCounter(const PollCounter&) = delete;
  PollCounter& operator=(const PollCounter&) = delete;

  int64_t slot() const { return reinterpret_cast<int64_t>(&context_); }

 private:
  static int32_t Ask(RtContext* context) { return reinterpret_cast<PollCounter*>(context)->polls_-- <= 0; }

  RtContext context_ = {};
  int polls_ = 0;
};
static_assert(std::is_standard_layout_v<PollCounter>);  // its address is its context's

}  // namespace tailor

#endif  // TAILOR_TESTS_CODEGEN_CPU_POLL_COUNTER_H_
