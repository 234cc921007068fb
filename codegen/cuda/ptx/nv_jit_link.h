// NVIDIA's assembler as a library (nvJitLink; on PyPI nvidia-nvjitlink), loaded at run time.
#ifndef TAILOR_CODEGEN_CUDA_PTX_NV_JIT_LINK_H_
#define TAILOR_CODEGEN_CUDA_PTX_NV_JIT_LINK_H_

#include <memory>

#include "absl/status/statusor.h"
#include "codegen/cuda/ptx/assembler.h"

namespace tailor::cuda {

// Loads the library that the environment variable TAILOR_NVJITLINK names (a file, or its folder). Otherwise
// libnvJitLink.so.13 or .12: where the dynamic loader finds it, in $CUDA_HOME/lib64 or in /usr/local/cuda/lib64. It
// stays loaded. NOT_FOUND says what was tried, and which symbol a library lacks.
absl::StatusOr<std::unique_ptr<Assembler>> LoadNvJitLink();

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_PTX_NV_JIT_LINK_H_
