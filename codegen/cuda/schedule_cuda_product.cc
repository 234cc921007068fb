#include "codegen/cuda/schedule_cuda_product.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/product_frame.h"
#include "codegen/gemm/contraction.h"
#include "codegen/gemm/panels.h"
#include "codegen/plan_queries.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// Guards under which an axis has from `least` to `most` elements: none where that is known, nothing where it cannot be.
std::optional<std::vector<Guard>> InRange(const KernelPlan& plan, int axis, int64_t least, int64_t most) {
  const Extent& extent = plan.axes[axis].extent;
  const ExtentRange range = RangeOfExtent(plan, extent);
  if (range.max < least || (range.fixed && range.max > most)) return std::nullopt;
  std::vector<Guard> guards;
  if (!range.fixed && least > 0)
    guards.push_back({.kind = Guard::Kind::kAtLeast, .slot = extent.slot, .number = least});
  if (range.max > most) guards.push_back({.kind = Guard::Kind::kAtMost, .slot = extent.slot, .number = most});
  return guards;
}

DimExpr Blocks(const KernelPlan& plan, const Contraction& c, const ProductTile& tile) {
  DimExpr blocks = DimExpr::CeilDiv(OverSlots(plan.axes[c.m].extent), tile.rows) *
                   DimExpr::CeilDiv(OverSlots(plan.axes[c.n].extent), tile.columns);
  for (int axis : c.batch) blocks = blocks * OverSlots(plan.axes[axis].extent);
  return blocks;
}

CudaVersion MakeVersion(const KernelPlan& plan, const Contraction& c, const ProductTile& tile,
                        const ProductTypes& types) {
  CudaVersion version{.shape = CudaVersion::Shape::kProductTile, .scratch_bytes = 0};
  version.tile = tile;
  version.threads = tile.threads();
  version.resident_blocks = tile.resident_blocks;
  version.blocks = Blocks(plan, c, tile);
  version.shared_bytes = SharedBytes(tile, types);
  return version;
}

using Kind = ProductTile::Kind;

// Of many rows and columns, and of any number of them. The operands of a step come once from memory for rows * columns
// products of depth, so large tiles read less; small ones make more blocks of a small result.
constexpr ProductTile kLargeMatrices = {.kind = Kind::kMatrix,
                                        .rows = 128,
                                        .columns = 128,
                                        .depth = 32,
                                        .part_rows = 64,
                                        .part_columns = 32,
                                        .stages = 3,
                                        .pass_rows = 64,
                                        .resident_blocks = 1};
constexpr ProductTile kSmallMatrices = {.kind = Kind::kMatrix,
                                        .rows = 64,
                                        .columns = 64,
                                        .depth = 32,
                                        .part_rows = 32,
                                        .part_columns = 32,
                                        .stages = 4,
                                        .pass_rows = 64,
                                        .resident_blocks = 3};
constexpr ProductTile kLargeElements = {
    .rows = 128, .columns = 128, .depth = 16, .part_rows = 8, .part_columns = 8, .stages = 2, .pass_rows = 64};
constexpr ProductTile kSmallElements = {
    .rows = 64, .columns = 64, .depth = 16, .part_rows = 4, .part_columns = 4, .stages = 2, .pass_rows = 64};

ProductTile MatrixStream(int rows) {
  return {.kind = Kind::kMatrixStream,
          .rows = rows,
          .columns = 32,
          .depth = 64,
          .part_rows = rows,
          .part_columns = 32,
          .stages = 0,
          .slices = 8,
          .pass_rows = rows,
          .resident_blocks = 2};
}

// Four columns of a thread where that is at most 16 bytes. Of many rows it has fewer elements on their way, for their
// sums take registers.
ProductTile PanelStream(int rows, const ProductTypes& types) {
  constexpr int kThreads = 256, kStagedRows = 8;
  const int columns = std::min(4, 16 / SizeOf(types.operand));
  return {.kind = Kind::kPanelStream,
          .rows = rows,
          .columns = kPanelColumns,
          .depth = rows > 4 ? 2 : 4,
          .part_rows = rows,
          .part_columns = columns,
          .stages = 0,
          .slices = kThreads * columns / kPanelColumns,
          .pass_rows = std::min(rows, kStagedRows),
          .resident_blocks = rows > 4 ? 1 : 2};
}

// The family of one type, and when each is taken, in order: the last always.
struct Choice {
  ProductTile tile;
  int64_t most_rows = INT64_MAX;
  int64_t least_extent = 0;  // rows, and columns
  int64_t least_blocks = 0;
};

// Large tiles have to fill the machine: the GPUs that targets name have 108 and 132 multiprocessors, and a wave that
// leaves many idle takes as long as a full one (the wave model of TSCompiler section 6, for two tiles).
std::vector<Choice> Family(const ProductTypes& types) {
  constexpr int64_t kProcessors = 108, kMoreThanSmall = 65;
  if (IsFloat(types.operand) && SizeOf(types.operand) == 2) {
    return {{.tile = MatrixStream(8), .most_rows = 8},
            {.tile = MatrixStream(16), .most_rows = 16},
            {.tile = kLargeMatrices, .least_extent = kMoreThanSmall, .least_blocks = kProcessors},
            {.tile = kSmallMatrices}};
  }
  std::vector<Choice> family;
  for (int rows : {1, 4, 16}) family.push_back({.tile = PanelStream(rows, types), .most_rows = rows});
  if (SizeOf(types.accumulate) == 4) {
    family.push_back({.tile = kLargeElements, .least_extent = kMoreThanSmall, .least_blocks = kProcessors});
  }
  family.push_back({.tile = kSmallElements});
  return family;
}

// The guards of `choice`; nothing where some of them cannot hold.
std::optional<std::vector<Guard>> GuardsOf(const KernelPlan& plan, const Contraction& c, const Choice& choice) {
  auto guards = InRange(plan, c.m, choice.least_extent, choice.most_rows);
  const auto columns = InRange(plan, c.n, choice.least_extent, INT64_MAX);
  if (!guards || !columns) return std::nullopt;
  guards->insert(guards->end(), columns->begin(), columns->end());
  if (choice.least_blocks == 0) return guards;
  const DimExpr blocks = Blocks(plan, c, choice.tile);
  std::vector<int64_t> most;
  for (const DimSlot& slot : plan.dims) most.push_back(slot.max);
  if (blocks.Evaluate(most).value_or(INT64_MAX) < choice.least_blocks) return std::nullopt;
  if (!blocks.constant()) {
    guards->push_back({.kind = Guard::Kind::kValueAtLeast, .number = choice.least_blocks, .value = blocks});
  }
  return guards;
}

}  // namespace

absl::StatusOr<CudaSchedule> ScheduleCudaProduct(const KernelPlan& plan, const TargetTraits& traits) {
  TAILOR_ASSIGN_OR_RETURN(const Contraction c, ReadContraction(plan));
  const ProductTypes types = TypesOf(plan, c);
  CudaSchedule schedule;
  for (const Choice& choice : Family(types)) {
    assert(SharedBytes(choice.tile, types) <= traits.regional_bytes);
    auto guards = GuardsOf(plan, c, choice);
    if (!guards) continue;
    CudaVersion version = MakeVersion(plan, c, choice.tile, types);
    version.version.guards = *std::move(guards);
    schedule.versions.push_back(std::move(version));
    if (schedule.versions.back().version.guards.empty()) break;
  }
  return schedule;
}

}  // namespace tailor
