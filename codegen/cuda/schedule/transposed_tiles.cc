#include "codegen/cuda/schedule/transposed_tiles.h"

#include "graph/dtype.h"

namespace tailor::cuda {

int64_t SharedBytes(const KernelPlan& plan, const Transposition& how) {
  int64_t bytes = 0;
  for (ExprId load : how.loads) bytes += kTransposeTileElements * SizeOf(plan.exprs[load].dtype);
  return bytes;
}

std::optional<Transposition> TransposedTiles(const KernelPlan& plan) {
  constexpr int64_t kShortAxis = 8;
  constexpr int64_t kMostBytes = 32 << 10;  // of shared memory, for several blocks at once
  std::optional<Transposition> how = FindTransposition(plan, kShortAxis, kShortAxis);
  if (how && SharedBytes(plan, *how) > kMostBytes) return std::nullopt;
  return how;
}

}  // namespace tailor::cuda
