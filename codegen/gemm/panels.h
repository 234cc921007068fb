// The panel layout of right operands of products (ConstantLayout::kPanels16).
#ifndef TAILOR_CODEGEN_GEMM_PANELS_H_
#define TAILOR_CODEGEN_GEMM_PANELS_H_

namespace tailor {

inline constexpr int kPanelColumns = 16;  // of one panel

}  // namespace tailor

#endif  // TAILOR_CODEGEN_GEMM_PANELS_H_
