// The vectors of packed rows (codegen/pack_rows.h): what they compute of a row as a whole.
#ifndef TAILOR_CODEGEN_CPU_PACKED_VECTORS_H_
#define TAILOR_CODEGEN_CPU_PACKED_VECTORS_H_

#include <deque>

#include "codegen/pack_rows.h"
#include "codegen/scalar_emitter.h"
#include "codegen/scalar_ops.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor {

// Some vectors side by side. The first lane of each row is its head: what a row has one of is in all of its lanes, and
// in a shorter vector of all heads.
class PackedVectors {
 public:
  // As many vectors as `frames`. All arguments must outlive this.
  PackedVectors(llvm::IRBuilderBase& b, const EmitTarget& target, const PackedRows& packed, int lanes,
                const std::deque<KernelFrame>& frames);

  int width() const { return packed_.width; }
  // Vector number `u` begins at element `first`, with a row. `mask`: of the lanes that there are; null: all.
  void Enter(int u, llvm::Value* first, llvm::Value* mask);
  // Emits `s` for vector number `u`, whose lanes `elements` has, unless `s` stores elements: then it returns false.
  bool Emit(int u, ScalarEmitter& elements, const Statement& s);

 private:
  void SetLocal(int u, ScalarEmitter& elements, const Statement& s);
  bool StoresOncePerRow(const Statement& s) const;
  llvm::Value* HeadsOf(llvm::Value* lanes);
  llvm::Value* FromHeads(llvm::Value* heads);
  llvm::Value* Reduce(const Statement& s, llvm::Value* value);

  llvm::IRBuilderBase& b_;
  const EmitTarget& target_;
  const PackedRows& packed_;
  const int lanes_;
  std::deque<ScalarEmitter> heads_;  // by vector: its lanes are rows
};

}  // namespace tailor

#endif  // TAILOR_CODEGEN_CPU_PACKED_VECTORS_H_
