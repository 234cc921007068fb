// Floating-point arithmetic on lanes, for the polynomials of functions.h: constants, fused or split multiply-add,
// Horner chains, and the bits of a float as an integer. A LaneMath has one type (f32 or f64, scalar or vector) and
// emits at its builder's position.
#ifndef TAILOR_CODEGEN_MATH_LANES_H_
#define TAILOR_CODEGEN_MATH_LANES_H_

#include "codegen/ir/emit_target.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::math {

class LaneMath {
 public:
  // `type` is float or double, or a fixed vector of one of them.
  LaneMath(llvm::IRBuilderBase& b, const EmitTarget& target, llvm::Type* type);

  // The same lanes in double precision.
  LaneMath Widened() const;

  llvm::IRBuilderBase& builder() const { return b_; }
  llvm::Type* type() const { return type_; }
  bool is_double() const { return type_->getScalarType()->isDoubleTy(); }
  int mantissa_bits() const { return is_double() ? 52 : 23; }

  llvm::Value* K(double value) const;       // a float constant, broadcast
  llvm::Value* KBits(uint64_t bits) const;  // an integer constant of the float's width, broadcast
  llvm::Value* Infinity() const;
  llvm::Value* NaN() const;

  llvm::Value* Bits(llvm::Value* x, const llvm::Twine& name) const;
  llvm::Value* FromBits(llvm::Value* bits, const llvm::Twine& name) const;

  bool fma() const { return target_.fma; }
  bool avx2() const { return target_.avx2; }
  bool avx512() const { return target_.avx512; }
  // x * y + z: one rounding on targets with FMA, two on others.
  llvm::Value* MulAdd(llvm::Value* x, llvm::Value* y, llvm::Value* z, const llvm::Twine& name) const;
  // The polynomial in x whose coefficients are given highest power first.
  llvm::Value* Horner(llvm::Value* x, llvm::ArrayRef<double> coefficients, const llvm::Twine& name) const;
  // The same in about half as many dependent steps: pairs of terms side by side, then a Horner chain in x^2 over pairs.
  llvm::Value* HornerOfPairs(llvm::Value* x, llvm::ArrayRef<double> coefficients, const llvm::Twine& name) const;
  // x * 2^exponent by integer addition to the exponent field. The result must be a normal number.
  llvm::Value* AddExponent(llvm::Value* x, llvm::Value* exponent, const llvm::Twine& name) const;

  llvm::Value* Abs(llvm::Value* x, const llvm::Twine& name) const;
  llvm::Value* CopySign(llvm::Value* magnitude, llvm::Value* sign, const llvm::Twine& name) const;
  // The minimum / maximum of x and a constant; NaN stays NaN.
  llvm::Value* AtMost(llvm::Value* x, double bound, const llvm::Twine& name) const;
  llvm::Value* AtLeast(llvm::Value* x, double bound, const llvm::Twine& name) const;

 private:
  llvm::IRBuilderBase& b_;
  const EmitTarget& target_;
  llvm::Type* type_;
  llvm::Type* bits_type_;
};

}  // namespace tailor::math

#endif  // TAILOR_CODEGEN_MATH_LANES_H_
