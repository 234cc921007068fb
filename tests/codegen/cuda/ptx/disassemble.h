// NVIDIA's disassembler, for tests that look at what the assembler made.
#ifndef TAILOR_TESTS_CODEGEN_CUDA_PTX_DISASSEMBLE_H_
#define TAILOR_TESTS_CODEGEN_CUDA_PTX_DISASSEMBLE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tailor::cuda {

// Why Disassemble gives nothing.
inline constexpr char kNoDisassembler[] = "no cuobjdump in PATH, CUDA_HOME or the folder of PyTorch's environment";

// The machine code of a cubin as text; nothing where no disassembler is in the usual places.
std::optional<std::string> Disassemble(std::span<const std::byte> cubin);

}  // namespace tailor::cuda

#endif  // TAILOR_TESTS_CODEGEN_CUDA_PTX_DISASSEMBLE_H_
