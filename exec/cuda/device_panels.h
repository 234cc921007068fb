// Panels of a matmul's rhs in device memory (ConstantLayout::kPanels16): conversion from an artifact's constants, and
// to row-major. Rows are XOR swizzled: in odd groups of 4 rows the two halves swap (HasXorSwizzle).
#ifndef TAILOR_EXEC_CUDA_DEVICE_PANELS_H_
#define TAILOR_EXEC_CUDA_DEVICE_PANELS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codegen/contract/program.h"
#include "graph/dtype.h"

namespace tailor {

// The bytes of `constant` as kernels read them: its own bytes, or converted ones in `*made`.
std::span<const std::byte> BytesOnDevice(const ProgramConstant& constant, std::vector<std::byte>* made);

// Converts the device panels of one batch index to row-major `plain`, [k, n].
void UnpackPanels(const std::byte* panels, DType dtype, int64_t k, int64_t n, std::byte* plain);

}  // namespace tailor

#endif  // TAILOR_EXEC_CUDA_DEVICE_PANELS_H_
