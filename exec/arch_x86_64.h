// The x86-64 version of arch.h.
#ifndef TAILOR_EXEC_ARCH_X86_64_H_
#define TAILOR_EXEC_ARCH_X86_64_H_

#include <immintrin.h>

namespace tailor::arch {

// For a spin loop: briefly yields the core's resources to its sibling hyperthread.
inline void Pause() { _mm_pause(); }

// A thread's floating-point control register: MXCSR.
using FloatControl = unsigned;
inline FloatControl ReadFloatControl() { return _mm_getcsr(); }
inline void WriteFloatControl(FloatControl control) { _mm_setcsr(control); }
// Round to nearest, denormals kept, every exception masked.
inline constexpr FloatControl kDefaultFloatControl = 0x1f80;
// Added to it: denormal results and operands are zeros of their sign (FTZ, DAZ).
inline constexpr FloatControl kFlushDenormals = 0x8040;
// Flags of past exceptions, which change no result.
inline constexpr FloatControl kFloatFlags = 0x3f;

}  // namespace tailor::arch

#endif  // TAILOR_EXEC_ARCH_X86_64_H_
