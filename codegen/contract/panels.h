// The panel layouts of right operands of matmuls (ConstantLayout).
#ifndef TAILOR_CODEGEN_CONTRACT_PANELS_H_
#define TAILOR_CODEGEN_CONTRACT_PANELS_H_

#include <cstdint>

#include "codegen/contract/program.h"
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

// Of Winograd's algorithm (codegen/cpu/conv/winograd.h), which makes 16 points of each 3 x 3 weights
// (kWinogradPanels16).
inline constexpr int kWinogradWindow = 3;
inline constexpr int kWinogradResults = 2;                                    // along each side of a tile of results
inline constexpr int kWinogradSide = kWinogradResults + kWinogradWindow - 1;  // of its tile of the image
inline constexpr int kWinogradPoints = kWinogradSide * kWinogradSide;

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CONTRACT_PANELS_H_
