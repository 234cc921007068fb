// CPU features that generated code may use, as supported by the CPU and the operating system. Names are LLVM's ("avx2",
// "avx512bf16"). Each architecture implements this in a file like cpu_features_x86_64.cc.
#ifndef TAILOR_EXEC_CPU_FEATURES_H_
#define TAILOR_EXEC_CPU_FEATURES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tailor {

// What the CPU reports of itself, on x86-64 raw CPUID results. Tests make their own.
struct CpuId {
  uint32_t leaf0_ebx = 0, leaf0_ecx = 0, leaf0_edx = 0;  // vendor name
  uint32_t leaf1_eax = 0, leaf1_ecx = 0, leaf1_edx = 0;
  uint32_t leaf7_ebx = 0, leaf7_ecx = 0, leaf7_edx = 0;  // subleaf 0
  uint32_t leaf7_1_eax = 0, leaf7_1_edx = 0;             // subleaf 1
  uint32_t extended1_ecx = 0;                            // leaf 0x80000001
  uint64_t xcr0 = 0;                                     // register state that the operating system saves
};

const CpuId& ThisCpu();  // cached: under a hypervisor each CPUID costs microseconds

// Vendor and family as cost profiles name machines: "AuthenticAMD 25" is Zen 3 and Zen 4.
std::string CpuFamily(const CpuId& cpu);

// The reasons why code with `features` cannot run, one per missing feature ("avx512f: the operating system does not
// save its registers"); empty if it can.
std::vector<std::string> MissingFeatures(const CpuId& cpu, std::span<const std::string> features);

// The highest of "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4" that the machine supports.
std::string_view CpuLevel(const CpuId& cpu);

// All known feature names, for descriptions.
std::vector<std::string_view> KnownFeatures();

}  // namespace tailor

#endif  // TAILOR_EXEC_CPU_FEATURES_H_
