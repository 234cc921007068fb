// The panel layouts of a matmul's packed rhs (ConstantLayout).
#ifndef TAILOR_CODEGEN_CONTRACT_PANELS_H_
#define TAILOR_CODEGEN_CONTRACT_PANELS_H_

#include <cstdint>

#include "codegen/contract/program.h"
#include "graph/dtype.h"

namespace tailor {

inline constexpr int kPanelColumns = 16;  // per panel

// `count` columns rounded up to whole panels.
constexpr int64_t WholeLanes(int64_t count) { return (count + kPanelColumns - 1) / kPanelColumns * kPanelColumns; }

// The layout in which artifacts hold an rhs of `dtype`, and in which CPUs read it. GPUs read kPanels16, for 16-bit
// floats with the halves of some rows swapped (HasXorSwizzle).
constexpr ConstantLayout PanelLayout(DType dtype) {
  const bool words = dtype == DType::kBF16 || dtype == DType::kI16 || dtype == DType::kI8;
  return words ? ConstantLayout::kWordPanels16 : ConstantLayout::kPanels16;
}

// The steps of K in a word of such panels; 1 in other layouts.
constexpr int StepsPerWord(ConstantLayout layout, DType dtype) {
  return layout == ConstantLayout::kWordPanels16 ? 4 / SizeOf(dtype) : 1;
}
// `depth` steps rounded up to whole words of `steps`.
constexpr int64_t WholeWords(int64_t depth, int steps) { return (depth + steps - 1) / steps * steps; }

// Winograd's algorithm (codegen/cpu/conv/winograd.h): each 3 x 3 weight becomes 16 points (kWinogradPanels16).
inline constexpr int kWinogradWindow = 3;
inline constexpr int kWinogradResults = 2;                                    // side of an output tile
inline constexpr int kWinogradSide = kWinogradResults + kWinogradWindow - 1;  // side of an input tile
inline constexpr int kWinogradPoints = kWinogradSide * kWinogradSide;

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CONTRACT_PANELS_H_
