// The panel layouts of right operands of products (ConstantLayout::kPanels16 and kPairPanels16).
#ifndef TAILOR_CODEGEN_GEMM_PANELS_H_
#define TAILOR_CODEGEN_GEMM_PANELS_H_

#include "codegen/program.h"
#include "graph/dtype.h"

namespace tailor {

inline constexpr int kPanelColumns = 16;  // of one panel

// The one layout in which products on every target read right operands of `dtype`.
constexpr ConstantLayout PanelLayout(DType dtype) {
  return dtype == DType::kBF16 ? ConstantLayout::kPairPanels16 : ConstantLayout::kPanels16;
}

}  // namespace tailor

#endif  // TAILOR_CODEGEN_GEMM_PANELS_H_
