// The properties of a target that emission uses, beyond LLVM's own legalization.
#ifndef TAILOR_CODEGEN_IR_EMIT_TARGET_H_
#define TAILOR_CODEGEN_IR_EMIT_TARGET_H_

#include "fusion/target_traits.h"

namespace tailor {

struct EmitTarget {
  bool fma = true;  // llvm.fma is one instruction; else polynomials use mul + add
  BF16Matmuls bf16_matmuls = BF16Matmuls::kConverted;
  IntegerMatmuls integer_matmuls = IntegerMatmuls::kPairs;
  bool avx2 = false;    // and FMA; what codegen/math/registers.h emits
  bool avx512 = false;  // F and DQ: what codegen/math/avx512.h emits
  static EmitTarget Of(const TargetTraits& traits) {
    return {traits.fused_multiply_add, traits.bf16_matmuls, traits.integer_matmuls, traits.vector_bytes >= 32,
            traits.vector_bytes == 64};
  }
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_IR_EMIT_TARGET_H_
