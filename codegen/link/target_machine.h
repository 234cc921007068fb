// CPU targets: named CPU levels with their exact LLVM features.
#ifndef TAILOR_CODEGEN_LINK_TARGET_MACHINE_H_
#define TAILOR_CODEGEN_LINK_TARGET_MACHINE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "fusion/target_traits.h"
#include "llvm/Target/TargetMachine.h"

namespace tailor {

struct CpuTarget {
  std::string name;                   // "x86-64-v3", "x86-64-v4+avx512bf16"
  std::string level;                  // the part before the first '+'
  std::vector<std::string> features;  // required CPU features, as in Variant::features
  TargetTraits traits;
};

// Names: "x86-64-v2", "x86-64-v3", "x86-64-v4", each optionally with further LLVM features: "x86-64-v4+avx512bf16".
// INVALID_ARGUMENT names an unknown level or feature.
absl::StatusOr<CpuTarget> FindCpuTarget(absl::string_view name);
// The levels with instructions for matmuls of i16 and bytes (IntegerMatmuls).
inline constexpr char kDotProductsLevel[] = "x86-64-v4+avx512vnni";
inline constexpr char kByteTilesLevel[] = "x86-64-v4+avx512vnni+amx-tile+amx-int8";
// The default targets, ascending. All machines with AVX512-BF16 have AVX512-VNNI, and all with AMX-BF16 have AMX-INT8.
const std::vector<CpuTarget>& CpuLevels();
// Whether this machine has all features of `target`.
bool RunsHere(const CpuTarget& target);
// The best level that this machine supports.
const CpuTarget& HostCpuTarget();

// A TargetMachine with PIC, small code model. Initializes LLVM's X86 target once.
absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(
    const CpuTarget& target, llvm::CodeGenOptLevel effort = llvm::CodeGenOptLevel::Default);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_LINK_TARGET_MACHINE_H_
