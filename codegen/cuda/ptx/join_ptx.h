// Several PTX texts of one target as one.
#ifndef TAILOR_CODEGEN_CUDA_PTX_JOIN_PTX_H_
#define TAILOR_CODEGEN_CUDA_PTX_JOIN_PTX_H_

#include <string>

#include "absl/types/span.h"

namespace tailor::cuda {

// Joins what LLVM prints for modules of equal target and PTX version: directives that may be there once, and the
// declaration of dynamic shared memory, stay where they are first. Names of the modules must be distinct.
std::string JoinPtx(absl::Span<const std::string> modules);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_PTX_JOIN_PTX_H_
