#if defined(__x86_64__)
#include "exec/cpu_features.h"

#include <cpuid.h>

#include <algorithm>

namespace tailor {
namespace {

// Bits of XCR0: the register state that a feature needs.
enum State : uint64_t {
  kNone = 0,
  kYmm = 0x6,          // SSE and AVX
  kZmm = kYmm | 0xe0,  // mask registers, upper halves, registers 16 to 31
  kTiles = 0x60000,
};

struct Feature {
  std::string_view name;
  uint32_t CpuId::*word;
  int bit;
  State state;
};

constexpr Feature kFeatures[] = {
    {"cx8", &CpuId::leaf1_edx, 8, kNone},          {"cmov", &CpuId::leaf1_edx, 15, kNone},
    {"mmx", &CpuId::leaf1_edx, 23, kNone},         {"fxsr", &CpuId::leaf1_edx, 24, kNone},
    {"sse", &CpuId::leaf1_edx, 25, kNone},         {"sse2", &CpuId::leaf1_edx, 26, kNone},
    {"sse3", &CpuId::leaf1_ecx, 0, kNone},         {"pclmul", &CpuId::leaf1_ecx, 1, kNone},
    {"ssse3", &CpuId::leaf1_ecx, 9, kNone},        {"fma", &CpuId::leaf1_ecx, 12, kYmm},
    {"cx16", &CpuId::leaf1_ecx, 13, kNone},        {"sse4.1", &CpuId::leaf1_ecx, 19, kNone},
    {"sse4.2", &CpuId::leaf1_ecx, 20, kNone},      {"movbe", &CpuId::leaf1_ecx, 22, kNone},
    {"popcnt", &CpuId::leaf1_ecx, 23, kNone},      {"aes", &CpuId::leaf1_ecx, 25, kNone},
    {"xsave", &CpuId::leaf1_ecx, 26, kNone},       {"avx", &CpuId::leaf1_ecx, 28, kYmm},
    {"f16c", &CpuId::leaf1_ecx, 29, kYmm},         {"sahf", &CpuId::extended1_ecx, 0, kNone},
    {"lzcnt", &CpuId::extended1_ecx, 5, kNone},    {"bmi", &CpuId::leaf7_ebx, 3, kNone},
    {"avx2", &CpuId::leaf7_ebx, 5, kYmm},          {"bmi2", &CpuId::leaf7_ebx, 8, kNone},
    {"avx512f", &CpuId::leaf7_ebx, 16, kZmm},      {"avx512dq", &CpuId::leaf7_ebx, 17, kZmm},
    {"avx512ifma", &CpuId::leaf7_ebx, 21, kZmm},   {"avx512cd", &CpuId::leaf7_ebx, 28, kZmm},
    {"avx512bw", &CpuId::leaf7_ebx, 30, kZmm},     {"avx512vl", &CpuId::leaf7_ebx, 31, kZmm},
    {"avx512vbmi", &CpuId::leaf7_ecx, 1, kZmm},    {"avx512vbmi2", &CpuId::leaf7_ecx, 6, kZmm},
    {"gfni", &CpuId::leaf7_ecx, 8, kNone},         {"vaes", &CpuId::leaf7_ecx, 9, kYmm},
    {"vpclmulqdq", &CpuId::leaf7_ecx, 10, kYmm},   {"avx512vnni", &CpuId::leaf7_ecx, 11, kZmm},
    {"avx512bitalg", &CpuId::leaf7_ecx, 12, kZmm}, {"avx512vpopcntdq", &CpuId::leaf7_ecx, 14, kZmm},
    {"avx512fp16", &CpuId::leaf7_edx, 23, kZmm},   {"amx-bf16", &CpuId::leaf7_edx, 22, kTiles},
    {"amx-tile", &CpuId::leaf7_edx, 24, kTiles},   {"amx-int8", &CpuId::leaf7_edx, 25, kTiles},
    {"avxvnni", &CpuId::leaf7_1_eax, 4, kYmm},     {"avx512bf16", &CpuId::leaf7_1_eax, 5, kZmm},
    {"amx-fp16", &CpuId::leaf7_1_eax, 21, kTiles}, {"avxifma", &CpuId::leaf7_1_eax, 23, kYmm},
    {"avxvnniint8", &CpuId::leaf7_1_edx, 4, kYmm}, {"avxneconvert", &CpuId::leaf7_1_edx, 5, kYmm},
};

// The reason why `name` cannot be used, or "".
std::string WhyMissing(const CpuId& cpu, std::string_view name) {
  const auto* feature =
      std::find_if(std::begin(kFeatures), std::end(kFeatures), [name](const Feature& f) { return f.name == name; });
  std::string reason(name);
  if (feature == std::end(kFeatures)) return reason + ": this runtime does not know the feature";
  if ((cpu.*feature->word >> feature->bit & 1) == 0) return reason + ": the CPU does not have it";
  if ((cpu.xcr0 & feature->state) != feature->state) {
    return reason + ": the operating system does not save its registers";
  }
  return "";
}

bool HasAll(const CpuId& cpu, std::initializer_list<std::string_view> names) {
  return std::all_of(names.begin(), names.end(), [&](std::string_view n) { return WhyMissing(cpu, n).empty(); });
}

// XGETBV, without requiring its instruction set for this whole file.
uint64_t ReadXcr0() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

CpuId ReadCpuId() {
  CpuId cpu;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d)) {
    cpu.leaf0_ebx = b;
    cpu.leaf0_ecx = c;
    cpu.leaf0_edx = d;
  }
  if (__get_cpuid(1, &a, &b, &c, &d)) {
    cpu.leaf1_eax = a;
    cpu.leaf1_ecx = c;
    cpu.leaf1_edx = d;
  }
  constexpr uint32_t kOsXsave = 1u << 27;
  if (cpu.leaf1_ecx & kOsXsave) cpu.xcr0 = ReadXcr0();
  uint32_t subleaves = 0;
  if (__get_cpuid_count(7, 0, &subleaves, &b, &c, &d)) {
    cpu.leaf7_ebx = b;
    cpu.leaf7_ecx = c;
    cpu.leaf7_edx = d;
  }
  if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) {
    cpu.leaf7_1_eax = a;
    cpu.leaf7_1_edx = d;
  }
  if (__get_cpuid(0x80000001, &a, &b, &c, &d)) {
    cpu.extended1_ecx = c;
  }
  return cpu;
}

}  // namespace

const CpuId& ThisCpu() {
  static const CpuId cpu = ReadCpuId();
  return cpu;
}

std::string CpuFamily(const CpuId& cpu) {
  std::string name;
  for (const uint32_t word : {cpu.leaf0_ebx, cpu.leaf0_edx, cpu.leaf0_ecx}) {
    for (int byte = 0; byte < 4; ++byte) name += static_cast<char>(word >> 8 * byte & 0xff);
  }
  constexpr uint32_t kExtended = 15;
  uint32_t family = cpu.leaf1_eax >> 8 & 15;
  if (family == kExtended) family += cpu.leaf1_eax >> 20 & 0xff;
  return name + " " + std::to_string(family);
}

std::vector<std::string> MissingFeatures(const CpuId& cpu, std::span<const std::string> features) {
  std::vector<std::string> reasons;
  for (const std::string& feature : features) {
    if (std::string reason = WhyMissing(cpu, feature); !reason.empty()) reasons.push_back(std::move(reason));
  }
  return reasons;
}

std::string_view CpuLevel(const CpuId& cpu) {
  if (!HasAll(cpu, {"cx16", "sahf", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2"})) return "x86-64";
  if (!HasAll(cpu, {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"})) return "x86-64-v2";
  if (!HasAll(cpu, {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})) return "x86-64-v3";
  return "x86-64-v4";
}

std::vector<std::string_view> KnownFeatures() {
  std::vector<std::string_view> names;
  for (const Feature& feature : kFeatures) names.push_back(feature.name);
  return names;
}

}  // namespace tailor

#endif  // defined(__x86_64__)
