// The GPU architectures that code is emitted for.
#ifndef TAILOR_CODEGEN_CUDA_PTX_TARGET_H_
#define TAILOR_CODEGEN_CUDA_PTX_TARGET_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "fusion/target_traits.h"

namespace tailor::cuda {

// Most bytes of a kernel's parameters in PTX versions before 8.1 (PTX ISA, directive .param).
inline constexpr int kMostParameterBytes = 4352;

struct CudaTarget {
  std::string name;     // "sm_80"
  int ptx_version = 0;  // 70 is PTX ISA 7.0, the lowest that supports the architecture; 0: no PTX
  TargetTraits traits;

  // Not a GPU: kernels stay LLVM IR, for an emulator on the host.
  bool is_emulated() const { return ptx_version == 0; }
  // Whether later architectures run code for this one: all but names that end in a letter.
  bool is_floor() const { return !is_emulated() && name.back() != 'a'; }
};

// "sm_80", "sm_90", "sm_90a", or "simt" for tests, which has the traits of sm_90a except for shorter parts of rows.
// INVALID_ARGUMENT lists them for any other name.
absl::StatusOr<CudaTarget> FindCudaTarget(absl::string_view name);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_PTX_TARGET_H_
