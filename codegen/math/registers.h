// Whole registers in place of lanes, for instructions that LLVM has no generic name for: fewer lanes are widened to one
// register, more lanes use several, so a value has the same bits at every lane count.
#ifndef TAILOR_CODEGEN_MATH_REGISTERS_H_
#define TAILOR_CODEGEN_MATH_REGISTERS_H_

#include "codegen/math/lanes.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tailor::math {

using Registers = llvm::ArrayRef<llvm::Value*>;

// Applies `f` to `operands`, one register of `bits` at a time. The results are lanes of `type`; all operands have the
// same width.
llvm::Value* ByRegister(llvm::IRBuilderBase& b, int bits, llvm::Type* type, Registers operands, const llvm::Twine& name,
                        llvm::function_ref<llvm::Value*(Registers)> f);

// table[index mod size]; `index`: integer lanes. 8 f32 entries require m.avx2(), 16 or 32 require m.avx512() (vpermps,
// vpermi2ps).
llvm::Value* LookUp(const LaneMath& m, llvm::ArrayRef<float> table, llvm::Value* index, const llvm::Twine& name);

}  // namespace tailor::math

#endif  // TAILOR_CODEGEN_MATH_REGISTERS_H_
