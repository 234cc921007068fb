// The floating-point mode of the calling thread during runs.
#ifndef TAILOR_EXEC_FLOAT_MODE_H_
#define TAILOR_EXEC_FLOAT_MODE_H_

#include "exec/arch.h"

namespace tailor {

// Sets a scope's mode: round to nearest, every exception masked, denormals kept or flushed to zero. Restores the
// thread's mode at the end. Costs one register read if the thread is in this mode already.
class FloatMode {
 public:
  explicit FloatMode(arch::FloatControl control) : control_(control), saved_(arch::ReadFloatControl()) {
    if (changes()) arch::WriteFloatControl(control_);
  }
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;
  ~FloatMode() {
    if (changes()) arch::WriteFloatControl(saved_);
  }

 private:
  bool changes() const { return (saved_ & ~arch::kFloatFlags) != control_; }

  const arch::FloatControl control_, saved_;
};

// The mode of a program's runs.
constexpr arch::FloatControl FloatControlOf(bool flush_denormals) {
  return arch::kDefaultFloatControl | (flush_denormals ? arch::kFlushDenormals : 0);
}

}  // namespace tailor

#endif  // TAILOR_EXEC_FLOAT_MODE_H_
