// The floating-point mode of the calling thread during runs.
#ifndef TAILOR_EXEC_FLOAT_MODE_H_
#define TAILOR_EXEC_FLOAT_MODE_H_

#include "exec/arch.h"

namespace tailor {

// Sets a scope's mode: round to nearest, denormals kept, every exception masked. Restores the thread's mode at the end.
// Costs one register read if the thread is in this mode already, as most are.
class DefaultFloatMode {
 public:
  DefaultFloatMode() : saved_(arch::ReadFloatControl()) {
    if (changes()) arch::WriteFloatControl(arch::kDefaultFloatControl);
  }
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;
  ~DefaultFloatMode() {
    if (changes()) arch::WriteFloatControl(saved_);
  }

 private:
  bool changes() const { return (saved_ & ~arch::kFloatFlags) != arch::kDefaultFloatControl; }

  const arch::FloatControl saved_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_FLOAT_MODE_H_
