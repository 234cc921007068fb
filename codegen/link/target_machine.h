// The machines that code is emitted for: named CPU levels with their exact LLVM features.
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
  std::vector<std::string> features;  // what a machine must have, as in Variant::features
  TargetTraits traits;
};

// "x86-64-v2", "x86-64-v3", "x86-64-v4", and each of them with more of LLVM's features: "x86-64-v4+avx512bf16".
// INVALID_ARGUMENT naming the level or feature that is unknown.
absl::StatusOr<CpuTarget> FindCpuTarget(absl::string_view name);
// The targets that code is made for unless others are asked for, ascending: each includes the ones before it.
const std::vector<CpuTarget>& CpuLevels();
bool RunsHere(const CpuTarget& target);
// The best level that this machine runs.
const CpuTarget& HostCpuTarget();

// PIC, small code model, O2; initialises LLVM's X86 back end once.
absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const CpuTarget& target);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_LINK_TARGET_MACHINE_H_
