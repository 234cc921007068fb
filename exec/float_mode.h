// The floating-point mode of a thread.
#ifndef TAILOR_EXEC_FLOAT_MODE_H_
#define TAILOR_EXEC_FLOAT_MODE_H_

#include "exec/arch.h"

namespace tailor {

// While it lives: round to nearest, denormals kept, every exception masked. Restores what the thread had.
// Costs a read only where the thread is in that mode already, as most are.
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
