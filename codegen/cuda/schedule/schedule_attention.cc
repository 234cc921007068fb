#include "codegen/cuda/schedule/schedule_attention.h"

#include <algorithm>
#include <cassert>

#include "codegen/plan/attention.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/idioms/masked_keys.h"
#include "codegen/plan/plan_queries.h"

namespace tailor::cuda {
namespace {

int Padded(const KernelPlan& plan, int axis, int64_t multiple) {
  return static_cast<int>((plan.axes[axis].dim_size.constant + multiple - 1) / multiple * multiple);
}

// Bytes. Two blocks share a multiprocessor's memory; GPUs that run sm_80 code have as little as 100 KiB.
constexpr int64_t kMostShared = 48 << 10;

// The first of these sizes, largest first, that fits shared memory. Slices of few rows have 16 keys on tensor cores,
// the depth of one mma, else 8. `plan` is a copy, to which expressions are added.
AttentionTile MakeTile(KernelPlan plan, const Attention& attention, const TargetTraits& traits, bool few_rows) {
  struct Size {
    int rows, keys;
  };
  const bool matrix = attention.operand != DType::kF32;
  AttentionTile tile{.kind = matrix ? AttentionTile::Kind::kMma : AttentionTile::Kind::kSimt,
                     .stages = matrix ? 2 : 1,
                     .depth = Padded(plan, attention.d, 16),
                     .columns = Padded(plan, attention.v, matrix ? 16 : 32)};
  // Checking whether scores other than -inf have weight needs registers that only narrow rows leave.
  const auto hidden = FindMaskedKeys(plan, attention);
  tile.skips = hidden && (hidden->never || tile.depth + tile.columns <= 128);
  const auto fits = [&](const Size& size) {
    tile.keys = size.keys;
    tile.rows = few_rows ? AttentionTile::kWarpRows : size.rows;
    tile.slices = few_rows ? size.keys / (matrix ? 16 : 8) : 1;
    return SharedBytes(tile) <= std::min(kMostShared, traits.regional_bytes);
  };
  if (matrix) {
    for (const Size& size : {Size{64, 64}, {64, 32}, {32, 32}}) {
      if (fits(size)) return tile;
    }
  } else {
    for (const Size& size : {Size{64, 32}, {32, 32}, {32, 16}, {16, 16}}) {
      if (fits(size)) return tile;
    }
  }
  assert(false && "max_attention_row is more than shared memory holds");
  return tile;
}

CudaVersion MakeVersion(const KernelPlan& plan, const Attention& attention, const AttentionTile& tile) {
  CudaVersion version{.shape = CudaVersion::Shape::kAttentionTile, .threads = tile.threads(), .scratch_bytes = 0};
  // Registers per thread: 168 with three blocks, 255 with two. Wide rows, f32 and skipping need more than 168.
  version.resident_blocks = tile.is_narrow() ? 3 : 2;
  version.attention = tile;
  version.blocks = SlotExpr::CeilDiv(OverSlots(plan.axes[attention.m].dim_size), tile.rows);
  for (int axis : attention.batch) version.blocks = version.blocks * OverSlots(plan.axes[axis].dim_size);
  version.shared_bytes = SharedBytes(tile);
  return version;
}

}  // namespace

CudaSchedule ScheduleCudaAttention(const KernelPlan& plan, const TargetTraits& traits) {
  const Attention attention = AttentionOf(plan);
  const DimSize& rows = plan.axes[attention.m].dim_size;
  const DimSizeRange range = RangeOfDimSize(plan, rows);
  constexpr int64_t kFew = AttentionTile::kWarpRows;
  CudaSchedule schedule;
  if (!range.fixed || range.max <= kFew) {
    schedule.versions.push_back(MakeVersion(plan, attention, MakeTile(plan, attention, traits, /*few_rows=*/true)));
    if (range.max <= kFew) return schedule;
    schedule.versions.back().version.guards = {{.kind = Guard::Kind::kAtMost, .slot = rows.slot, .number = kFew}};
  }
  schedule.versions.push_back(MakeVersion(plan, attention, MakeTile(plan, attention, traits, /*few_rows=*/false)));
  return schedule;
}

}  // namespace tailor::cuda
