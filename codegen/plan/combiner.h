// The scalar op with which a reduction, a scan or a scatter combines elements.
#ifndef TAILOR_CODEGEN_PLAN_COMBINER_H_
#define TAILOR_CODEGEN_PLAN_COMBINER_H_

#include "absl/strings/string_view.h"
#include "graph/ops.h"

namespace tailor {

inline OpKind CombinerOf(OpKind reduction) {
  switch (reduction) {
    case OpKind::kReduceMax:
      return OpKind::kMax;
    case OpKind::kReduceMin:
      return OpKind::kMin;
    case OpKind::kReduceProd:
      return OpKind::kMul;
    default:
      return OpKind::kAdd;
  }
}

// For the attribute of a scan or scatter, other than "set".
inline OpKind CombinerOf(absl::string_view attribute) {
  return attribute == "add"   ? OpKind::kAdd
         : attribute == "mul" ? OpKind::kMul
         : attribute == "max" ? OpKind::kMax
                              : OpKind::kMin;
}

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_COMBINER_H_
