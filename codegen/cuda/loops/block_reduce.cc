#include "codegen/cuda/loops/block_reduce.h"

#include <algorithm>

#include "codegen/cuda/device_ir/device_intrinsics.h"
#include "codegen/cuda/schedule/cuda_schedule.h"
#include "codegen/ir/emit_loop.h"

namespace tailor::cuda {
namespace {

using llvm::Value;

Value* Combine(llvm::IRBuilderBase& b, const EmitTarget& target, const PartialResult& p, Value* lhs, Value* rhs) {
  return EmitCombined(b, target, p.combiner, p.dtype, lhs, rhs);
}

// Combines over each group of `threads` neighbouring lanes of a warp.
Value* EmitShuffles(llvm::IRBuilderBase& b, const EmitTarget& target, int threads, const PartialResult& p) {
  Value* value = p.value;
  for (int distance = threads / 2; distance > 0; distance /= 2) {
    value = Combine(b, target, p, value, device::EmitShuffleXor(b, value, distance));
  }
  return value;
}

// Cells of shared memory through which warps exchange results: one per partial, warp and lane (of `lanes`).
class Cells {
 public:
  Cells(llvm::IRBuilderBase& b, int warps, int lanes)
      : b_(b), shared_(device::EmitSharedMemory(b)), warps_(warps), lanes_(lanes) {}

  void Store(size_t partial, Value* warp, Value* lane, Value* value) {
    b_.CreateAlignedStore(value, At(partial, warp, lane), llvm::Align(8));
  }
  // The parts of all warps, combined in their order.
  Value* Combined(const EmitTarget& target, size_t partial, Value* lane, const PartialResult& p) {
    Value* total = nullptr;
    for (int w = 0; w < warps_; ++w) {
      Value* part =
          b_.CreateAlignedLoad(p.value->getType(), At(partial, b_.getInt32(w), lane), llvm::Align(8), "warp.part");
      total = total == nullptr ? part : Combine(b_, target, p, total, part);
    }
    return total;
  }

 private:
  Value* At(size_t partial, Value* warp, Value* lane) {
    Value* row = b_.CreateAdd(warp, b_.getInt32(static_cast<int>(partial) * warps_), "cell.row");
    Value* index = b_.CreateAdd(b_.CreateMul(row, b_.getInt32(lanes_)), lane, "cell.index");
    return b_.CreateInBoundsGEP(b_.getInt64Ty(), shared_, index, "cell");
  }

  llvm::IRBuilderBase& b_;
  Value* shared_;
  const int warps_, lanes_;
};

}  // namespace

Value* EmitCombined(llvm::IRBuilderBase& b, const EmitTarget& target, OpKind combiner, DType dtype, Value* lhs,
                    Value* rhs) {
  const bool extreme = combiner == OpKind::kMax || combiner == OpKind::kMin;
  if (!extreme || dtype != DType::kF32) return EmitScalarOp(b, target, combiner, dtype, dtype, {lhs, rhs});
  const auto id = combiner == OpKind::kMax ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum;
  return b.CreateBinaryIntrinsic(id, lhs, rhs, nullptr, "extreme");
}

std::vector<Value*> EmitRowReduce(llvm::IRBuilderBase& b, const EmitTarget& target, int row_threads,
                                  const std::vector<PartialResult>& partials) {
  std::vector<Value*> results;
  for (const PartialResult& p : partials) results.push_back(EmitShuffles(b, target, std::min(row_threads, kWarp), p));
  if (row_threads <= kWarp || partials.empty()) return results;

  Cells cells(b, row_threads / kWarp, 1);
  Value* thread = device::EmitThreadId(b);
  Value* is_leader = b.CreateICmpEQ(b.CreateAnd(thread, kWarp - 1, "lane"), b.getInt32(0), "is_leader");
  EmitIf(b, is_leader, "leader", [&] {
    Value* warp = b.CreateLShr(thread, 5, "warp");
    for (size_t i = 0; i < partials.size(); ++i) cells.Store(i, warp, b.getInt32(0), results[i]);
  });
  device::EmitBarrier(b);
  for (size_t i = 0; i < partials.size(); ++i) {
    results[i] = cells.Combined(target, i, b.getInt32(0), partials[i]);
  }
  device::EmitBarrier(b);
  return results;
}

std::vector<Value*> EmitColumnReduce(llvm::IRBuilderBase& b, const EmitTarget& target, int threads,
                                     const std::vector<PartialResult>& partials) {
  if (partials.empty()) return {};
  Cells cells(b, threads / kWarp, kWarp);
  Value* thread = device::EmitThreadId(b);
  Value* warp = b.CreateLShr(thread, 5, "warp");
  Value* lane = b.CreateAnd(thread, kWarp - 1, "lane");
  for (size_t i = 0; i < partials.size(); ++i) cells.Store(i, warp, lane, partials[i].value);
  device::EmitBarrier(b);
  std::vector<Value*> results;
  for (size_t i = 0; i < partials.size(); ++i) results.push_back(cells.Combined(target, i, lane, partials[i]));
  device::EmitBarrier(b);
  return results;
}

}  // namespace tailor::cuda
