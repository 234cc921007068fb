#include "codegen/cuda/schedule/operand_maps.h"

#include <algorithm>
#include <numeric>

#include "codegen/contract/panels.h"

namespace tailor::cuda {
namespace {

bool IsBound(const Buffer& buffer) { return buffer.kind == BufferKind::kInput || buffer.kind == BufferKind::kOutput; }

// The parameter that is the address of `buffer`; buffers come first, in order.
int32_t SlotOf(const KernelPlan& plan, int buffer) {
  return static_cast<int32_t>(std::count_if(plan.buffers.begin(), plan.buffers.begin() + buffer, IsBound));
}

// ceil(extent / divisor) as a factor of dim `dim`. Dim slots come behind all buffers.
TensorMapFactor Factor(const KernelPlan& plan, int dim, const Extent& extent, int64_t divisor = 1) {
  if (extent.is_constant()) return {dim, -1, std::max<int64_t>(1, (extent.constant + divisor - 1) / divisor)};
  return {dim, SlotOf(plan, static_cast<int>(plan.buffers.size())) + extent.slot, divisor};
}

TensorMap RightMap(const KernelPlan& plan, const Contraction& c, const ProductTile& tile, int steps) {
  const std::vector<Extent>& dims = plan.buffers[c.rhs.ref].dims;
  const size_t rank = dims.size();
  TensorMap map{.address = SlotOf(plan, c.rhs.ref),
                .factors = {{0, -1, kPanelColumns * steps}, Factor(plan, 1, dims[rank - 2], steps)},
                .box = {kPanelColumns * steps, tile.depth / steps, tile.columns / kPanelColumns}};
  map.factors.push_back(Factor(plan, 2, dims[rank - 1], kPanelColumns));
  for (size_t d = 0; d + 2 < rank; ++d) map.factors.push_back(Factor(plan, 2, dims[d]));
  return map;
}

TensorMap LeftMap(const KernelPlan& plan, const Contraction& c, const ProductTile& tile, size_t row_dim) {
  const std::vector<Extent>& dims = plan.buffers[c.lhs.ref].dims;
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
  if (last.kind != ExprKind::kAxis || last.ref != c.k || buffer.dims.back() != plan.axes[c.k].extent ||
      !IsUnitStride(plan, LoadCoefficients(plan, load, c.k))) {
    return std::nullopt;
  }
  const std::vector<ExprId> rows = LoadCoefficients(plan, load, c.m);
  std::optional<size_t> row_dim;
  for (size_t d = 0; d < rows.size(); ++d) {
    const Expr& coefficient = plan.exprs[rows[d]];
    const bool constant = coefficient.kind == ExprKind::kExtent && coefficient.extent.is_constant();
    if (constant && coefficient.extent.constant == 0) continue;
    if (!constant || coefficient.extent.constant != 1 || row_dim) return std::nullopt;
    row_dim = d;
  }
  return row_dim;
}

int RightBoxSteps(const KernelPlan& plan, const Contraction& c, const ProductTile& tile) {
  constexpr int64_t kMost = 16;
  const ExtentRange range = RangeOfExtent(plan, plan.axes[c.k].extent);
  // Where boxes bring the left operand too, its rows are whole units of 16 bytes (guards of its version see to that).
  const int64_t least = tile.copying_warps == 1 ? 8 : 1;
  return static_cast<int>(std::max(least, std::gcd(range.fixed ? range.max : range.divisor, kMost)));
}

std::vector<TensorMap> OperandMaps(const KernelPlan& plan, const Contraction& contraction, const ProductTile& tile) {
  std::vector<TensorMap> maps = {RightMap(plan, contraction, tile, RightBoxSteps(plan, contraction, tile))};
  if (const auto row_dim = RowDimOf(plan, contraction)) maps.push_back(LeftMap(plan, contraction, tile, *row_dim));
  return maps;
}

}  // namespace tailor::cuda
