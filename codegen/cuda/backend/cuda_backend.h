// The backend of NVIDIA GPUs: images of kernels for the device, and a host program for the least CPU level.
#ifndef TAILOR_CODEGEN_CUDA_BACKEND_CUDA_BACKEND_H_
#define TAILOR_CODEGEN_CUDA_BACKEND_CUDA_BACKEND_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/backend/backend.h"

namespace tailor::cuda {

struct CudaOptions {
  bool allow_tf32 = false;  // operands of f32 matmuls may be rounded to tf32
};

// Whether `name` is one of MakeCudaBackend's.
bool NamesCudaTarget(absl::string_view name);

// Of the targets named: "sm_80", "sm_90", "sm_90a"; "cuda": all of these; "simt": the emulator of the tests. Each once,
// "sm_90a" before "sm_90" before "sm_80". PTX, for architectures to come, is with the last target that has it alone.
// INVALID_ARGUMENT for a name that is unknown.
absl::StatusOr<std::unique_ptr<backend::Backend>> MakeCudaBackend(const std::vector<std::string>& names,
                                                                  const CudaOptions& options);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_BACKEND_CUDA_BACKEND_H_
