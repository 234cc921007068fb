#include "codegen/cuda/schedule/operand_maps.h"

#include <algorithm>
#include <numeric>

#include "codegen/contract/panels.h"

namespace tailor::cuda {
namespace {

bool IsBound(const Buffer& buffer) { return buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kOutput; }

// The parameter with the address of `buffer`; buffers come first, in order.
int32_t SlotOf(const KernelPlan& plan, int buffer) {
  return static_cast<int32_t>(std::count_if(plan.buffers.begin(), plan.buffers.begin() + buffer, IsBound));
}

// ceil(dim_size / divisor) as a factor of dim `dim`. Dim slots come after all buffers.
TensorMapFactor Factor(const KernelPlan& plan, int dim, const DimSize& dim_size, int64_t divisor = 1) {
  if (dim_size.is_constant()) return {dim, -1, std::max<int64_t>(1, (dim_size.constant + divisor - 1) / divisor)};
  return {dim, SlotOf(plan, static_cast<int>(plan.buffers.size())) + dim_size.slot, divisor};
}

TensorMap RhsMap(const KernelPlan& plan, const Contraction& c, const MatmulTile& tile, int steps) {
  const std::vector<DimSize>& dims = plan.buffers[c.rhs.ref].dims;
  const size_t rank = dims.size();
  TensorMap map{.address = SlotOf(plan, c.rhs.ref),
                .factors = {{0, -1, kPanelColumns * steps}, Factor(plan, 1, dims[rank - 2], steps)},
                .box = {kPanelColumns * steps, tile.depth / steps, tile.columns / kPanelColumns}};
  map.factors.push_back(Factor(plan, 2, dims[rank - 1], kPanelColumns));
  for (size_t d = 0; d + 2 < rank; ++d) map.factors.push_back(Factor(plan, 2, dims[d]));
  return map;
}

TensorMap LhsMap(const KernelPlan& plan, const Contraction& c, const MatmulTile& tile, size_t row_dim) {
  const std::vector<DimSize>& dims = plan.buffers[c.lhs.ref].dims;
  TensorMap map{.address = SlotOf(plan, c.lhs.ref),
                .factors = {Factor(plan, 0, dims.back())},
                .box = {tile.depth, 1, tile.rows},
                .swizzle_bytes = 2 * tile.depth};
  for (size_t d = 0; d + 1 < dims.size(); ++d) map.factors.push_back(Factor(plan, d > row_dim ? 1 : 2, dims[d]));
  return map;
}

}  // namespace

std::optional<size_t> RowDimOf(KernelPlan plan, const Contraction& c) {
  const Expr& load = c.lhs;
  const Buffer& buffer = plan.buffers[load.ref];
  if (c.fill >= 0 || load.predicate >= 0 || buffer.layout != ConstantLayout::kRowMajor || load.args.size() < 2) {
    return std::nullopt;
  }
  const Expr& last = plan.exprs[load.args.back()];
  if (last.kind != ExprKind::kAxis || last.ref != c.k || buffer.dims.back() != plan.axes[c.k].dim_size ||
      !MapOf(plan, load, c.k).IsUnitInLastDim()) {
    return std::nullopt;
  }
  const AccessMap rows = MapOf(plan, load, c.m);
  std::optional<size_t> row_dim;
  for (size_t d = 0; d < rows.steps().size(); ++d) {
    if (rows.steps()[d].Is(0)) continue;
    if (!rows.steps()[d].Is(1) || row_dim) return std::nullopt;
    row_dim = d;
  }
  return row_dim;
}

int RhsBoxSteps(const KernelPlan& plan, const Contraction& c, const MatmulTile& tile) {
  constexpr int64_t kMost = 16;
  const DimSizeRange range = RangeOfDimSize(plan, plan.axes[c.k].dim_size);
  // If the lhs is copied by boxes too, its rows are whole units of 16 bytes (ensured by guards of the version).
  const int64_t least = tile.copying_warps == 1 ? 8 : 1;
  return static_cast<int>(std::max(least, std::gcd(range.fixed ? range.max : range.divisor, kMost)));
}

std::vector<TensorMap> OperandMaps(const KernelPlan& plan, const Contraction& contraction, const MatmulTile& tile) {
  std::vector<TensorMap> maps = {RhsMap(plan, contraction, tile, RhsBoxSteps(plan, contraction, tile))};
  if (const auto row_dim = RowDimOf(plan, contraction)) maps.push_back(LhsMap(plan, contraction, tile, *row_dim));
  return maps;
}

}  // namespace tailor::cuda
