// The backend of CPUs: one image of native code a target, kernels and host program together.
#ifndef TAILOR_CODEGEN_CPU_BACKEND_CPU_BACKEND_H_
#define TAILOR_CODEGEN_CPU_BACKEND_CPU_BACKEND_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/backend/backend.h"

namespace tailor::cpu {

// Of the targets named (FindCpuTarget, or "host": this machine's level), each once, those that need most of a machine
// first. INVALID_ARGUMENT for a name that is unknown.
absl::StatusOr<std::unique_ptr<backend::Backend>> MakeCpuBackend(const std::vector<std::string>& names);

}  // namespace tailor::cpu

#endif  // TAILOR_CODEGEN_CPU_BACKEND_CPU_BACKEND_H_
