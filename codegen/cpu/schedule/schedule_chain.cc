// The schedule of a chain: blocks of rows small enough that the values passed between links stay in cache.
#include <algorithm>

#include "codegen/cpu/gemm/rhs_operand.h"
#include "codegen/cpu/schedule/schedule_chain.h"
#include "codegen/cpu/schedule/schedule_contraction.h"
#include "codegen/cpu/schedule/schedule_loops.h"
#include "codegen/cpu/schedule/tasks.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/plan_queries.h"

namespace tailor::cpu {
namespace {

constexpr int64_t kBlockRows = 24;

Schedule ScheduleLink(const KernelPlan& plan, const TargetTraits& traits) {
  Schedule schedule = plan.IsContraction() ? ScheduleContraction(plan, traits, /*in_chain=*/true)
                                           : ScheduleLoops(plan, traits, /*whole_rows_only=*/true);
  schedule.versions = {Version{}};
  schedule.tasks = schedule.tasks_per_chunk = 0;  // those of the chain apply
  if (plan.IsContraction()) {
    schedule.tile.task_rows = std::max<int64_t>(1, kBlockRows / schedule.tile.rows) * schedule.tile.rows;
    schedule.tile.task_panels = ContractionTile::kAllPanels;
    schedule.tile.chooses = false;  // all links share one tiling of rows
    schedule.tile.tilings.clear();
    const Contraction c = ContractionOf(plan);
    schedule.scratch_bytes = gemm::ScratchBytes(plan, c, schedule);  // of these tiles
  }
  return schedule;
}

// Multiply-adds per row.
SlotExpr RowCost(const KernelPlan& matmul) {
  const size_t n = matmul.axes.size() - 2;
  return OverSlots(matmul.axes[n].dim_size) * OverSlots(matmul.axes[n + 1].dim_size);
}

}  // namespace

Schedule ScheduleChain(const KernelPlan& plan, const TargetTraits& traits) {
  Schedule schedule;
  SlotExpr row_cost = 0, own_scratch = 0;
  for (const ChainLink& link : plan.links()) {
    const auto over_chain = [&](const SlotExpr& e) { return e.Renumbered(link.dims); };
    schedule.links.push_back(ScheduleLink(link.plan, traits));
    own_scratch = SlotExpr::Max(own_scratch, over_chain(schedule.links.back().scratch_bytes));
    if (link.plan.IsContraction()) row_cost = row_cost + over_chain(RowCost(link.plan));
  }
  const int64_t block = schedule.links[0].tile.task_rows;
  for (Schedule& link : schedule.links) link.block_rows = block;
  SlotExpr scratch = own_scratch;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.kind == BufferKind::kBlock) scratch = scratch + BlockBytes(buffer, block);
  }
  schedule.scratch_bytes = scratch;

  const SlotExpr rows = OverSlots(plan.axes.back().dim_size);
  schedule.tasks = SlotExpr::CeilDiv(rows, block);
  for (size_t i = 0; i + 1 < plan.axes.size(); ++i) schedule.tasks = schedule.tasks * OverSlots(plan.axes[i].dim_size);
  schedule.tasks_per_chunk =
      SlotExpr::Max(1, SlotExpr::FloorDiv(kChunkMultiplyAdds, SlotExpr::Min(rows, block) * row_cost + 1));
  return schedule;
}

}  // namespace tailor::cpu
