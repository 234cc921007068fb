// Stores of the first lanes of a vector.
#ifndef TAILOR_CODEGEN_IR_MASKED_STORE_H_
#define TAILOR_CODEGEN_IR_MASKED_STORE_H_

#include "codegen/ir/emit_target.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor {

// Stores the lanes of `mask`, which are the first ones (EmitFirstLanes), and calls `stored` with each store. `align`
// holds for every element. With AVX2 and no mask registers: as a whole vector if all lanes are stored, else in halves,
// quarters and so on. A masked store takes 17 cycles on Zen 3 whatever its mask, those 5.
void EmitStoreOfFirstLanes(llvm::IRBuilderBase& b, const EmitTarget& target, llvm::Value* value, llvm::Value* address,
                           llvm::Align align, llvm::Value* mask, llvm::function_ref<void(llvm::Instruction*)> stored);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_IR_MASKED_STORE_H_
