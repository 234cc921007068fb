// The GPU architectures that code is emitted for.
#ifndef TAILOR_CODEGEN_CUDA_CUDA_TARGET_H_
#define TAILOR_CODEGEN_CUDA_CUDA_TARGET_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "fusion/target_traits.h"

namespace tailor {

struct CudaTarget {
  std::string name;     // "sm_80"
  int ptx_version = 0;  // 70 is PTX ISA 7.0, the lowest that names the architecture
  TargetTraits traits;
};

// "sm_80", "sm_90"; INVALID_ARGUMENT listing them for any other name.
absl::StatusOr<CudaTarget> FindCudaTarget(absl::string_view name);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CUDA_CUDA_TARGET_H_
