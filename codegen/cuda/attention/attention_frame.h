// The frame of every attention kernel: the rows and the batch index of its block.
#ifndef TAILOR_CODEGEN_CUDA_ATTENTION_ATTENTION_FRAME_H_
#define TAILOR_CODEGEN_CUDA_ATTENTION_ATTENTION_FRAME_H_

#include <optional>
#include <string>

#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/plan/attention.h"
#include "codegen/plan/idioms/masked_keys.h"
#include "codegen/scalar/scalar_emitter.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::cuda {

// Borrows all arguments; one per kernel.
struct AttentionFrame {
  // Opens kernel `name` in `module` (OpenCudaKernel) and sets the batch axes to the block's. `own_plan` must be the
  // emitter's copy: expressions are added to it.
  AttentionFrame(llvm::IRBuilderBase& builder, llvm::Module& module, KernelPlan& own_plan, const CudaVersion& version,
                 const std::string& name);

  // The address `offset` (i32) bytes into shared memory.
  llvm::Value* Shared(llvm::Value* offset);
  llvm::Value* I32(int value) { return b.getInt32(value); }
  llvm::Value* F32(float value);
  // In f32 there are instructions to spare beside the matmuls, but no registers.
  bool few_registers() const { return tile.kind == AttentionTile::Kind::kSimt; }
  llvm::Value* Wide(llvm::Value* value) { return b.CreateZExt(value, b.getInt64Ty()); }

  const EmitTarget target{.fma = true};
  llvm::IRBuilderBase& b;
  KernelPlan& plan;
  const Attention attention;
  const AttentionTile tile;
  const std::optional<MaskedKeys> masked;  // if the tile skips them
  KernelFrame kernel;
  ScalarEmitter scalars;
  llvm::Value* shared;       // the block's shared memory
  llvm::Value* thread;       // i32
  llvm::Value *rows, *keys;  // dim sizes of the plan, i64
  int64_t depth, columns;    // dim sizes of the plan
  llvm::Value* first_row;    // of the block, i64
};

}  // namespace tailor::cuda

#endif  // TAILOR_CODEGEN_CUDA_ATTENTION_ATTENTION_FRAME_H_
