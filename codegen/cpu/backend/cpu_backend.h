// The CPU backend: one image of native code per target, kernels and host program linked together.
#ifndef TAILOR_CODEGEN_CPU_BACKEND_CPU_BACKEND_H_
#define TAILOR_CODEGEN_CPU_BACKEND_CPU_BACKEND_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/backend/backend.h"
#include "codegen/contract/cost_profile.h"

namespace tailor::cpu {

struct CpuBackendOptions {
  bool optimize = true;         // HostBuild
  bool interleave_rows = true;  // TargetTraits
  bool pack_short_rows = true;
  bool choose_tilings = true;
  std::shared_ptr<const CostProfile> costs;  // of the machine to compile for; null: the built-in profiles
};

// `names`: targets (FindCpuTarget), or "host" for this machine's level. Each target is built once, the most demanding
// first. INVALID_ARGUMENT for an unknown name.
absl::StatusOr<std::unique_ptr<backend::Backend>> MakeCpuBackend(const std::vector<std::string>& names,
                                                                 const CpuBackendOptions& options);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_BACKEND_CPU_BACKEND_H_
