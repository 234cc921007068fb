// The GPU architectures that code is emitted for.
#ifndef TAILOR_CODEGEN_CUDA_PTX_TARGET_H_
#define TAILOR_CODEGEN_CUDA_PTX_TARGET_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "fusion/target_traits.h"

namespace tailor::cuda {

// What the parameters of a kernel take at most, in PTX of versions before 8.1 (PTX ISA, directive .param).
inline constexpr int kMostParameterBytes = 4352;

struct CudaTarget {
  std::string name;     // "sm_80"
  int ptx_version = 0;  // 70 is PTX ISA 7.0, the lowest that names the architecture; 0: it has no PTX
  TargetTraits traits;

  // No GPU: kernels stay LLVM IR, for an emulator on the host.
  bool is_emulated() const { return ptx_version == 0; }
  // Later architectures run what is made for this one. Not so where the name ends in a letter.
  bool is_floor() const { return !is_emulated() && name.back() != 'a'; }
};

// "sm_80", "sm_90", "sm_90a"; "simt", which has the traits of sm_90a but for shorter parts of rows, and is for tests.
// INVALID_ARGUMENT listing them for any other name.
absl::StatusOr<CudaTarget> FindCudaTarget(absl::string_view name);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_PTX_TARGET_H_
