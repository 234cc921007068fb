// The vendor-neutral intrinsics of GPU kernels: calls of functions named `tailor.device.*` with exact attributes:
// convergent where threads must arrive together, no memory effects where there are none, ranges on indices.
// lower_device_intrinsics.h turns them into NVPTX; tests may define them on the host instead.
//
//   i32 thread_id(), block_dim(), block_id(), grid_dim()   one-dimensional launches
//   void barrier()                                         of the block; orders memory
//   void grid_barrier(ptr addrspace(1) counter)            of the grid; all blocks must be resident; orders memory
//   T shuffle_xor.<T>(T value, i32 mask)                   the value of lane (own lane ^ mask) of the warp
//   T shuffle_down.<T>(T value, i32 distance)              of lane (own lane + distance), the own one past the last
//   T shuffle_idx.<T>(T value, i32 lane)                   of lane `lane` % 32
//   ptr addrspace(3) shared_memory()                       the block's dynamic shared memory, 1024-byte aligned
//
// Intrinsics of one instruction each are in device_op_table.h.
#ifndef TAILOR_CODEGEN_CUDA_DEVICE_IR_DEVICE_INTRINSICS_H_
#define TAILOR_CODEGEN_CUDA_DEVICE_IR_DEVICE_INTRINSICS_H_

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/IRBuilder.h"

namespace tailor::device {

inline constexpr llvm::StringLiteral kPrefix = "tailor.device.";
inline constexpr int kMaxThreads = 1024;
inline constexpr unsigned kGlobalSpace = 1;
inline constexpr unsigned kSharedAlignment = 1024;  // the period of 128-byte swizzles of copies and wgmma
inline constexpr unsigned kSharedSpace = 3;

// Each emits one call where `b` stands and declares the function in its module.
llvm::Value* EmitThreadId(llvm::IRBuilderBase& b);
llvm::Value* EmitBlockDim(llvm::IRBuilderBase& b);
llvm::Value* EmitBlockId(llvm::IRBuilderBase& b);
llvm::Value* EmitGridDim(llvm::IRBuilderBase& b);
void EmitBarrier(llvm::IRBuilderBase& b);
// `counter`: a 4-byte word of global memory, zero when the launch begins, the same for all its grid barriers.
void EmitGridBarrier(llvm::IRBuilderBase& b, llvm::Value* counter);
// `value` is an i8, i16, i32, i64, float or double.
llvm::Value* EmitShuffleXor(llvm::IRBuilderBase& b, llvm::Value* value, int mask);
llvm::Value* EmitShuffleDown(llvm::IRBuilderBase& b, llvm::Value* value, int distance);
llvm::Value* EmitShuffleIndex(llvm::IRBuilderBase& b, llvm::Value* value, llvm::Value* lane);
llvm::Value* EmitSharedMemory(llvm::IRBuilderBase& b);

}  // namespace tailor::device

#endif  // TAILOR_CODEGEN_CUDA_DEVICE_IR_DEVICE_INTRINSICS_H_
