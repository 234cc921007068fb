// PTX to cubins by NVIDIA's assembler ptxas as a process, where the machine has it.
#ifndef TAILOR_CODEGEN_CUDA_PTX_ASSEMBLE_H_
#define TAILOR_CODEGEN_CUDA_PTX_ASSEMBLE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "codegen/cuda/ptx/assembler.h"
#include "codegen/cuda/ptx/target.h"

namespace tailor::cuda {

// The path of `ptxas`: in PATH, else in $CUDA_HOME/bin, else in /usr/local/cuda/bin. NOT_FOUND names the places that
// were searched.
absl::StatusOr<std::string> FindPtxas();

// Runs the program at `path`, without a shell, on temporary files that are removed before it returns.
std::unique_ptr<Assembler> MakePtxas(std::string path);

// The cubin that ptxas at path `ptxas` makes of `ptx`, whatever its notes. As Assembler::Assemble.
absl::StatusOr<std::vector<std::byte>> AssemblePtx(const std::string& ptxas, absl::string_view ptx,
                                                   const CudaTarget& target);

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_PTX_ASSEMBLE_H_
