// PTX to cubins by NVIDIA's assembler, where the machine has it.
#ifndef TAILOR_CODEGEN_CUDA_ASSEMBLE_H_
#define TAILOR_CODEGEN_CUDA_ASSEMBLE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/cuda/cuda_target.h"

namespace tailor {

// The path of `ptxas`: in PATH, else in $CUDA_HOME/bin, else in /usr/local/cuda/bin. NOT_FOUND naming the
// places that were searched.
absl::StatusOr<std::string> FindPtxas();

// The cubin (an ELF file) of `ptx` for `target`. Runs `ptxas` as a process, without a shell, on temporary files
// that are gone on return. INVALID_ARGUMENT with the assembler's messages if it refuses.
absl::StatusOr<std::vector<std::byte>> AssemblePtx(const std::string& ptxas, absl::string_view ptx,
                                                   const CudaTarget& target);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CUDA_ASSEMBLE_H_
