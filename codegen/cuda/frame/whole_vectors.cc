#include "codegen/cuda/frame/whole_vectors.h"

#include <algorithm>
#include <vector>

#include "codegen/cuda/schedule/access.h"

namespace tailor::cuda {
namespace {

using llvm::Value;

constexpr int64_t kWidestAccess = 16;  // bytes

bool HasVectors(const KernelPlan& plan, const CudaVersion& version, int buffer) {
  const std::vector<Access> all = AccessesOf(plan);
  return std::any_of(all.begin(), all.end(), [&](const Access& access) {
    return access.buffer == buffer && LiesInRuns(plan, access, version.lane_axis, version.version.no_broadcast);
  });
}

}  // namespace

Value* EmitAreVectorsWhole(llvm::IRBuilderBase& b, const KernelPlan& plan, const CudaVersion& version,
                           const KernelFrame& frame) {
  Value* dim_size = frame.DimSizeValue(b, plan.axes[version.lane_axis].dim_size);
  Value* bits = b.CreateURem(dim_size, b.getInt64(version.lanes), "rest");
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    const bool bound = buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kOutput;
    if (!bound || !HasVectors(plan, version, static_cast<int>(i))) continue;
    const int64_t bytes = std::min(kWidestAccess, int64_t{SizeOf(buffer.dtype)} * version.lanes);
    Value* address = b.CreatePtrToInt(frame.buffers[i], b.getInt64Ty(), "address");
    bits = b.CreateOr(bits, b.CreateAnd(address, b.getInt64(bytes - 1)), "unaligned");
  }
  return b.CreateICmpEQ(bits, b.getInt64(0), "whole");
}

}  // namespace tailor::cuda
