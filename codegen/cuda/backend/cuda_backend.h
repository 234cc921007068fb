// The backend of NVIDIA GPUs: images of kernels for the device, and a host program for the lowest CPU level.
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

// Whether `name` is a target of MakeCudaBackend.
bool NamesCudaTarget(absl::string_view name);

// `names`: "sm_80", "sm_90", "sm_90a"; "cuda" for all of these; "simt" for the emulator of the tests. Each target is
// built once, "sm_90a" before "sm_90" before "sm_80". Beside its cubin only the last target that has PTX keeps it, for
// future architectures. INVALID_ARGUMENT for an unknown name.
absl::StatusOr<std::unique_ptr<backend::Backend>> MakeCudaBackend(const std::vector<std::string>& names,
                                                                  const CudaOptions& options);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_BACKEND_CUDA_BACKEND_H_
