// The element types of tensor cores, in the 32-bit words of registers.
#ifndef TAILOR_TESTS_EMULATOR_MULTIPLICANDS_H_
#define TAILOR_TESTS_EMULATOR_MULTIPLICANDS_H_

#include <bit>
#include <cstdint>

namespace tailor::simt {

// kDepth: elements that one instruction sums over.
struct Bf16 {
  static constexpr int kDepth = 16;
  static float At(uint32_t word, int half) { return std::bit_cast<float>((word >> 16 * half) << 16); }
  static uint32_t Round(float value) {  // to the nearest, ties to even
    const auto bits = std::bit_cast<uint32_t>(value);
    if (value != value) return 0x7fff;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  }
};

struct F16 {
  static constexpr int kDepth = 16;
  static float At(uint32_t word, int half) {
    const uint32_t bits = word >> 16 * half & 0xffff;
    const uint32_t magnitude = bits & 0x7fff, sign = bits >> 15 << 31;
    constexpr uint32_t kInfinity = 0x7c00;
    if (magnitude >= kInfinity) return std::bit_cast<float>(sign | 0x7f800000 | (magnitude - kInfinity) << 13);
    if (magnitude < 0x400) return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude * 0x1p-24f));
    return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  }
  static uint32_t Round(float value) {  // to the nearest, ties to even
    return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
  }
};

struct Tf32 {  // the upper 19 bits of a float; the others are ignored
  static constexpr int kDepth = 8;
  static float At(uint32_t word, int) { return std::bit_cast<float>(word & 0xffffe000); }
  static uint32_t Round(float value) {  // to the nearest, ties away from zero
    if (value != value) return 0x7fffffff;
    return (std::bit_cast<uint32_t>(value) + 0x1000) & 0xffffe000;
  }
};

}  // namespace tailor::simt

#endif  // TAILOR_TESTS_EMULATOR_MULTIPLICANDS_H_
