// The panel layouts of right operands of products (ConstantLayout::kPanels16 and kPairPanels16).
#ifndef TAILOR_CODEGEN_GEMM_PANELS_H_
#define TAILOR_CODEGEN_GEMM_PANELS_H_

#include <cstdint>

#include "codegen/program.h"
#include "graph/dtype.h"

namespace tailor {

inline constexpr int kPanelColumns = 16;  // of one panel

// `count` rounded up to whole panels' worth.
constexpr int64_t WholeLanes(int64_t count) { return (count + kPanelColumns - 1) / kPanelColumns * kPanelColumns; }

// The one layout in which artifacts hold right operands of `dtype`, and CPUs read them. GPUs read kPanels16, of 16-bit
// floats with the halves of some rows swapped (HalvesSwap).
constexpr ConstantLayout PanelLayout(DType dtype) {
  return dtype == DType::kBF16 ? ConstantLayout::kPairPanels16 : ConstantLayout::kPanels16;
}

}  // namespace tailor

#endif  // TAILOR_CODEGEN_GEMM_PANELS_H_
