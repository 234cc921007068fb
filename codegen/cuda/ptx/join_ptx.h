// Joins several PTX texts of one target.
#ifndef TAILOR_CODEGEN_CUDA_PTX_JOIN_PTX_H_
#define TAILOR_CODEGEN_CUDA_PTX_JOIN_PTX_H_

#include <string>

#include "absl/types/span.h"

namespace tailor::cuda {

// Joins LLVM's output for modules of equal target and PTX version. Directives that may occur once, and the declaration
// of dynamic shared memory, stay at their first place. Names of the modules must be distinct.
std::string JoinPtx(absl::Span<const std::string> modules);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_PTX_JOIN_PTX_H_
