// The CPU levels of tests that execute what they compile in their own process.
#ifndef TAILOR_TESTS_SUPPORT_LEVELS_H_
#define TAILOR_TESTS_SUPPORT_LEVELS_H_

#include <string>

#include "codegen/link/target_machine.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tailor {

inline constexpr const char* kCpuLevels[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};

// "x86-64-v4 cannot be executed: this CPU lacks avx512bw, avx512f"; empty where this CPU has all features.
std::string WhyNotHere(const CpuTarget& target);
// Whether code of `level` can be executed. Says on standard output, once for each level, why it is left out.
bool RunsOrSays(const std::string& level);

// The first instruction in the executable sections of `object`, an ELF file, that machines of `target` may lack; empty
// where there is none.
std::string InstructionBeyond(const llvm::MemoryBuffer& object, const CpuTarget& target);

}  // namespace tailor

#endif  // TAILOR_TESTS_SUPPORT_LEVELS_H_
