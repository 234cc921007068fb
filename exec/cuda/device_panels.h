// Panels of right operands in the memory of a device (ConstantLayout::kPanels16): what an artifact's constants become
// there, and what they would be row by row. Halves of rows swap (HalvesSwap).
#ifndef TAILOR_EXEC_CUDA_DEVICE_PANELS_H_
#define TAILOR_EXEC_CUDA_DEVICE_PANELS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codegen/contract/program.h"
#include "graph/dtype.h"

namespace tailor {

// The bytes of `constant` as kernels read them: its own, or those that `*made` gets.
std::span<const std::byte> BytesOnDevice(const ProgramConstant& constant, std::vector<std::byte>* made);

// Writes to `plain`, [k, n], what `panels`, of a device, hold of one batch index.
void PlainOfPanels(const std::byte* panels, DType dtype, int64_t k, int64_t n, std::byte* plain);

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_DEVICE_PANELS_H_
