// The machines that code is emitted for: named CPU levels with their exact LLVM features.
#ifndef TAILOR_CODEGEN_TARGET_MACHINE_H_
#define TAILOR_CODEGEN_TARGET_MACHINE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "fusion/target_traits.h"
#include "llvm/Target/TargetMachine.h"

namespace tailor {

struct CpuTarget {
  std::string name;                   // "x86-64-v3"
  std::vector<std::string> features;  // what a machine must have, as in Variant::features
  TargetTraits traits;
};

// "x86-64-v2", "x86-64-v3", "x86-64-v4"; INVALID_ARGUMENT listing them for any other name.
absl::StatusOr<CpuTarget> FindCpuTarget(absl::string_view name);
// The best of them that this machine runs.
const CpuTarget& HostCpuTarget();

// PIC, small code model, O2; initialises LLVM's X86 back end once.
absl::StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const CpuTarget& target);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_TARGET_MACHINE_H_
