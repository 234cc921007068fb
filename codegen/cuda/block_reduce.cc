#include "codegen/cuda/block_reduce.h"

#include "codegen/cuda/device_intrinsics.h"
#include "codegen/emit_loop.h"

namespace tailor {
namespace {

using llvm::Value;

constexpr int kWarp = 32;

Value* Combine(llvm::IRBuilderBase& b, const EmitTarget& target, const PartialResult& p, Value* lhs, Value* rhs) {
  return EmitScalarOp(b, target, p.combiner, p.dtype, p.dtype, {lhs, rhs});
}

Value* EmitWarpReduce(llvm::IRBuilderBase& b, const EmitTarget& target, const PartialResult& p) {
  Value* value = p.value;
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value = Combine(b, target, p, value, device::EmitShuffleXor(b, value, distance));
  }
  return value;
}

// The address of the 8-byte cell of partial `index` and warp `warp`.
Value* Cell(llvm::IRBuilderBase& b, Value* shared, int warps, size_t index, Value* warp) {
  Value* offset = b.CreateAdd(warp, b.getInt32(static_cast<int>(index) * warps), "cell.index");
  return b.CreateInBoundsGEP(b.getInt64Ty(), shared, offset, "cell");
}

}  // namespace

std::vector<Value*> EmitBlockReduce(llvm::IRBuilderBase& b, const EmitTarget& target, int threads,
                                    const std::vector<PartialResult>& partials) {
  std::vector<Value*> results;
  for (const PartialResult& p : partials) results.push_back(EmitWarpReduce(b, target, p));
  const int warps = threads / kWarp;
  if (warps == 1 || partials.empty()) return results;

  Value* shared = device::EmitSharedMemory(b);
  Value* thread = device::EmitThreadId(b);
  Value* warp = b.CreateLShr(thread, 5, "warp");
  Value* is_leader = b.CreateICmpEQ(b.CreateAnd(thread, 31, "lane"), b.getInt32(0), "is_leader");
  EmitIf(b, is_leader, "leader", [&] {
    for (size_t i = 0; i < partials.size(); ++i) {
      b.CreateAlignedStore(results[i], Cell(b, shared, warps, i, warp), llvm::Align(8));
    }
  });
  device::EmitBarrier(b);
  for (size_t i = 0; i < partials.size(); ++i) {
    Value* total = nullptr;
    for (int w = 0; w < warps; ++w) {
      Value* cell = Cell(b, shared, warps, i, b.getInt32(w));
      Value* part = b.CreateAlignedLoad(results[i]->getType(), cell, llvm::Align(8), "warp.part");
      total = total == nullptr ? part : Combine(b, target, partials[i], total, part);
    }
    results[i] = total;
  }
  device::EmitBarrier(b);
  return results;
}

}  // namespace tailor
