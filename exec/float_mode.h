// The floating-point mode of x86's SSE and AVX code, per thread.
#ifndef TAILOR_EXEC_FLOAT_MODE_H_
#define TAILOR_EXEC_FLOAT_MODE_H_

#include <immintrin.h>

namespace tailor {

// While it lives: round to nearest, denormals kept, every exception masked. Restores what the thread had.
// Costs a read only where the thread is in that mode already, as most are.
class DefaultFloatMode {
 public:
  DefaultFloatMode() : saved_(_mm_getcsr()) {
    if (changes()) _mm_setcsr(kDefault);
  }
  DefaultFloatMode(const DefaultFloatMode&) = delete;
  DefaultFloatMode& operator=(const DefaultFloatMode&) = delete;
  ~DefaultFloatMode() {
    if (changes()) _mm_setcsr(saved_);
  }

 private:
  static constexpr unsigned kDefault = 0x1f80;
  static constexpr unsigned kSticky = 0x3f;  // flags of past exceptions: they change no result
  bool changes() const { return (saved_ & ~kSticky) != kDefault; }

  const unsigned saved_;
};

}  // namespace tailor

#endif  // TAILOR_EXEC_FLOAT_MODE_H_
