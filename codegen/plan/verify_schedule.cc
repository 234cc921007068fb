#include "codegen/plan/verify_schedule.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "absl/strings/str_cat.h"
#include "codegen/contract/panels.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/plan_queries.h"
#include "codegen/plan/stage_phases.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

class ScheduleVerifier {
 public:
  ScheduleVerifier(const KernelPlan& plan, const Schedule& schedule, bool is_link = false)
      : plan_(plan), s_(schedule), is_link_(is_link) {}

  absl::Status Verify() const {
    if (plan_.IsChain()) {
      TAILOR_RETURN_IF_ERROR(VerifyChain());
    } else {
      if (!s_.links.empty()) return Wrong("links", "are only for chains");
      TAILOR_RETURN_IF_ERROR(VerifyLanes());
      TAILOR_RETURN_IF_ERROR(plan_.IsContraction() ? VerifyContraction() : VerifyLoops());
    }
    if (s_.block_rows < 0 || (s_.block_rows > 0 && !is_link_))
      return Wrong("block_rows", "is only for links of a chain");
    TAILOR_RETURN_IF_ERROR(VerifyLaunch());
    return VerifyVersions();
  }

 private:
  absl::Status Wrong(absl::string_view where, absl::string_view what) const {
    return ScheduleError(plan_, where, what);
  }

  bool IsAxis(int axis, AxisRole role) const {
    return axis >= 0 && axis < static_cast<int>(plan_.axes.size()) && plan_.axes[axis].role == role;
  }
  SlotExpr DimSizeOf(int axis) const { return OverSlots(plan_.axes[axis].dim_size); }

  absl::Status VerifyLanes() const {
    constexpr int kMostLanes = 64;  // bytes in the widest vector
    if (s_.lanes < 1 || s_.lanes > kMostLanes || !std::has_single_bit(static_cast<unsigned>(s_.lanes)))
      return Wrong("lanes", "must be a power of two up to 64");
    if (s_.lane_axis < -1 || s_.lane_axis >= static_cast<int>(plan_.axes.size()))
      return Wrong("lane_axis", "is out of range");
    if (s_.lane_axis < 0 && s_.lanes > 1) return Wrong("lane_axis", "is missing: there are several lanes");
    return absl::OkStatus();
  }

  absl::Status VerifyLoops() const {
    if (s_.tile != ContractionTile()) return Wrong("tile", "is only for contractions");
    if (s_.unroll < 1) return Wrong("unroll", "is less than 1");
    if (s_.interleaved_rows < 1) return Wrong("interleaved_rows", "is less than 1");
    if (s_.max_interleaved_elements < 0 || (s_.max_interleaved_elements > 0 && s_.interleaved_rows == 1))
      return Wrong("max_interleaved_elements", "needs interleaved_rows > 1");
    if (s_.overlap_stage < 0 || s_.overlap_stage >= std::max<int>(1, plan_.stages.size()))
      return Wrong("overlap_stage", "is out of range");
    if (s_.overlap_stage > 0 && s_.interleaved_rows < 3) return Wrong("overlap_stage", "needs interleaved_rows > 2");
    if (s_.max_overlap_elements < 0 || (s_.max_overlap_elements > 0 && s_.overlap_stage == 0))
      return Wrong("max_overlap_elements", "needs an overlap_stage");
    if (s_.defer_last_stage && s_.interleaved_rows == 1) return Wrong("defer_last_stage", "needs interleaved_rows > 1");
    const bool across = LanesAcrossRows(plan_, s_);
    if (s_.cross_axis >= 0) {
      if (!IsAxis(s_.cross_axis, AxisRole::kParallel) || s_.cross_axis == s_.lane_axis || !across)
        return Wrong("cross_axis", "must be a parallel axis other than a parallel lane_axis");
      if (s_.cross_chunk < s_.lanes || s_.cross_chunk % s_.lanes != 0)
        return Wrong("cross_chunk", "must be a multiple of lanes");
    } else if (s_.cross_axis != -1 || s_.cross_chunk != 0) {
      return Wrong("cross_axis", "must be an axis with a chunk, or -1 with none");
    }
    if (s_.windows) {
      if (!across || s_.unroll != 1) return Wrong("windows", "need a parallel lane_axis and unroll 1");
      if (s_.lane_chunk != 0) return Wrong("lane_chunk", "must be 0 with windows");
      return absl::OkStatus();
    }
    if (across ? s_.lane_chunk < s_.lanes || s_.lane_chunk % s_.lanes != 0 : s_.lane_chunk != 0)
      return Wrong("lane_chunk", across ? "must be a multiple of lanes" : "must be 0: lane_axis is not parallel");
    SlotExpr tasks = 1;
    for (int axis = 0; axis < static_cast<int>(plan_.axes.size()); ++axis) {
      if (plan_.axes[axis].role != AxisRole::kParallel) continue;
      const int64_t chunk = axis == s_.lane_axis ? s_.lane_chunk : axis == s_.cross_axis ? s_.cross_chunk : 1;
      tasks = tasks * SlotExpr::CeilDiv(DimSizeOf(axis), chunk);
    }
    return VerifyTasks(tasks);
  }

  absl::Status VerifyContraction() const {
    const Schedule fresh;
    if (s_.interleaved_rows != fresh.interleaved_rows || s_.max_interleaved_elements != 0 || s_.overlap_stage != 0 ||
        s_.max_overlap_elements != 0 || s_.defer_last_stage)
      return Wrong("interleaved_rows", "must be that of a new schedule: the plan is a contraction");
    if (s_.cross_axis != -1 || s_.cross_chunk != 0 || s_.lane_chunk != 0)
      return Wrong("cross_axis", "must be unset: the plan is a contraction");
    if (s_.windows) return Wrong("windows", "the plan is a contraction");
    if (s_.unroll != fresh.unroll) return Wrong("unroll", "must be that of a new schedule: the plan is a contraction");
    const auto& form = std::get<ContractionForm>(plan_.form);
    if (s_.lane_axis != form.m && s_.lane_axis != form.n) return Wrong("lane_axis", "is neither m nor n");
    if (s_.lanes > kPanelColumns) return Wrong("lanes", "must be at most the 16 columns of a panel");
    const ContractionTile& tile = s_.tile;
    TAILOR_RETURN_IF_ERROR(VerifyTile(tile.rows, tile.panels, tile.task_rows, tile.task_panels));
    if (tile.depth < 1) return Wrong("tile depth", "is less than 1");
    if (tile.tall_rows < 0 || (tile.tall_rows > 0 && tile.tall_rows <= tile.rows) ||
        (tile.tall_rows > 0) != (tile.tall_panels > 0) || tile.tall_panels > kMostPanels)
      return Wrong("tile tall_rows", "must be more than rows, with tall_panels, or both 0");
    if (!tile.tilings.empty() && !tile.chooses) return Wrong("tile tilings", "must be empty where chooses is not set");
    for (const MatmulTiling& tiling : tile.tilings) {
      TAILOR_RETURN_IF_ERROR(VerifyTile(tiling.rows, tiling.panels, tiling.task_rows, tiling.task_panels));
      if (tiling.least_m < 0 || tiling.most_m < tiling.least_m) return Wrong("tile tilings", "a range of m is empty");
    }
    if (tile.squares && (s_.lane_axis != form.n || s_.lanes != 16 || tile.rows_in_lanes || tile.chooses))
      return Wrong("tile squares", "need 16 lanes along n, without rows_in_lanes and chooses");
    if (tile.rows_in_lanes && (s_.lane_axis != form.m || tile.chooses))
      return Wrong("tile rows_in_lanes", "needs lanes along m, without chooses");
    const bool packs =
        std::any_of(s_.versions.begin(), s_.versions.end(), [](const Version& v) { return v.packs_rows; });
    if (packs != (tile.packed_rows != 0) || packs != (tile.packed_panels != 0))
      return Wrong("tile packed_rows", "must be set, with packed_panels, exactly where a version packs rows");
    const Contraction c = ContractionOf(plan_);
    if (c.fill >= 0 && tile.winograd_tiles == 0 && tile.task_rows % tile.rows != 0)
      return Wrong("tile task_rows", "must be whole tiles: the staging buffer holds the rows of a task");
    if (packs) {
      TAILOR_RETURN_IF_ERROR(VerifyTile(tile.packed_rows, tile.packed_panels, tile.task_rows, tile.task_panels));
      if (tile.packed_rows > s_.lanes || tile.task_rows % tile.packed_rows != 0 ||
          tile.task_panels % tile.packed_panels != 0)
        return Wrong("tile packed_rows", "must be at most a vector, and tasks whole tiles");
      if (!IsFloat(c.accumulate) || plan_.buffers[c.lhs.ref].dtype != c.accumulate || tile.chooses)
        return Wrong("tile packed_rows", "is for f32 and f64, without chooses");
      if (s_.lane_axis != form.m || tile.rows_in_lanes || is_link_ || c.in_place || c.fill >= 0)
        return Wrong("tile packed_rows", "needs lanes along m, without rows_in_lanes, and operands in memory");
    }
    if (tile.split_words && !tile.copies_rows) return Wrong("tile split_words", "needs copies_rows");
    if (tile.copies_rows && (tile.rows_in_lanes || packs || is_link_ || c.in_place))
      return Wrong("tile copies_rows", "is set beside rows_in_lanes or packed_rows, in a chain or for a rhs in place");
    const bool panels = !c.in_place && plan_.buffers[c.rhs.ref].layout != ConstantLayout::kRowMajor;
    if (!panels && tile.rows_in_lanes) return Wrong("tile rows_in_lanes", "reads panels only");
    const bool winograd = plan_.buffers[c.rhs.ref].layout == ConstantLayout::kWinogradPanels16;
    if (tile.winograd_tiles < 0 || winograd != (tile.winograd_tiles > 0))
      return Wrong("tile winograd_tiles", "must be set exactly where the rhs has Winograd panels");
    if (winograd) return absl::OkStatus();
    if (s_.row_blocks != 0 && (is_link_ || tile.chooses))
      return Wrong("row_blocks", "is set in a chain or beside chooses");
    const SlotExpr least = SlotExpr::CeilDiv(DimSizeOf(c.m), tile.task_rows);
    if (s_.row_blocks != 0 && SlotExpr::Max(s_.row_blocks, least) != s_.row_blocks)
      return Wrong("row_blocks", absl::StrCat("is not known to be at least ", least.Text()));
    const SlotExpr blocks = s_.row_blocks != 0 ? s_.row_blocks : least;
    SlotExpr tasks = blocks * SlotExpr::CeilDiv(DimSizeOf(c.n), tile.task_panels * kPanelColumns);
    for (int axis : c.batch) tasks = tasks * DimSizeOf(axis);
    return VerifyTasks(tasks);
  }

  absl::Status VerifyTile(int64_t rows, int64_t panels, int64_t task_rows, int64_t task_panels) const {
    if (rows < 1 || rows > kMostRows || panels < 1 || panels > kMostPanels) return Wrong("tile", "is out of range");
    if (task_rows < rows || task_panels < 1 || task_rows > kMostTaskRows || (task_panels > kMostTaskRows && !is_link_))
      return Wrong("tile task_rows", "must hold a tile and stay in range");
    return absl::OkStatus();
  }

  absl::Status VerifyChain() const {
    if (s_.links.size() != plan_.links().size()) return Wrong("links", "must be as many as the plan has");
    Schedule rest = s_;
    rest.links.clear();
    const Schedule fresh{.versions = rest.versions,
                         .tasks = rest.tasks,
                         .tasks_per_chunk = rest.tasks_per_chunk,
                         .scratch_bytes = rest.scratch_bytes};
    if (rest != fresh) return Wrong("lanes", "must be that of a new schedule: the plan is a chain");
    const int64_t block = s_.links[0].tile.task_rows;
    for (size_t i = 0; i < s_.links.size(); ++i) {
      if (s_.links[i].block_rows != block)
        return Wrong("links", "must all have block_rows of the first link's task_rows");
      if (s_.links[i].versions != std::vector<Version>(1) || s_.links[i].tile.chooses)
        return Wrong("links", "must have one version and one tiling");
      TAILOR_RETURN_IF_ERROR(ScheduleVerifier(plan_.links()[i].plan, s_.links[i], /*is_link=*/true).Verify());
    }
    SlotExpr tasks = SlotExpr::CeilDiv(DimSizeOf(static_cast<int>(plan_.axes.size()) - 1), block);
    for (size_t i = 0; i + 1 < plan_.axes.size(); ++i) tasks = tasks * DimSizeOf(static_cast<int>(i));
    return VerifyTasks(tasks);
  }

  // `tasks`: the number that the emitted code decodes. A link has none: the chain has them.
  absl::Status VerifyTasks(const SlotExpr& tasks) const {
    const SlotExpr& wanted = is_link_ ? SlotExpr() : tasks;
    if (s_.tasks != wanted) return Wrong("tasks", absl::StrCat("should be ", wanted.Text()));
    return absl::OkStatus();
  }

  absl::Status VerifyLaunch() const {
    const bool workers = s_.row_blocks != 0;
    if (!IsOverSlotsOf(plan_, s_.tasks, workers)) return Wrong("tasks", "is not over the plan's slots");
    if (!IsOverSlotsOf(plan_, s_.tasks_per_chunk)) return Wrong("tasks_per_chunk", "is not over the plan's slots");
    if (!IsOverSlotsOf(plan_, s_.scratch_bytes)) return Wrong("scratch_bytes", "is not over the plan's slots");
    if (!IsOverSlotsOf(plan_, s_.row_blocks, workers)) return Wrong("row_blocks", "is not over the plan's slots");
    if (s_.row_blocks != 0 && !plan_.IsContraction()) return Wrong("row_blocks", "the plan is no contraction");
    if (is_link_ ? s_.tasks_per_chunk != 0 : s_.tasks_per_chunk.constant().value_or(1) < 1)
      return Wrong("tasks_per_chunk", "is not a number of tasks");
    if (s_.scratch_bytes.constant().value_or(0) < 0) return Wrong("scratch_bytes", "is less than 0");
    if (!HasScratch(plan_) && !s_.tile.keeps_rows() && s_.scratch_bytes != 0)
      return Wrong("scratch_bytes", "the plan has no scratch");
    return absl::OkStatus();
  }

  absl::Status VerifyVersions() const {
    if (s_.versions.empty()) return Wrong("versions", "there is none");
    for (size_t i = 0; i < s_.versions.size(); ++i) {
      const Version& version = s_.versions[i];
      TAILOR_RETURN_IF_ERROR(VerifyVersion(plan_, version, i + 1 == s_.versions.size()));
      if (version.guards.empty() && i + 1 < s_.versions.size())
        return Wrong("versions", "one before the last has no guards");
      for (size_t before = 0; before < i; ++before) {
        if (s_.versions[before].guards == version.guards) return Wrong("versions", "two have the same guards");
      }
      if (version.packs_rows && !plan_.IsContraction()) return Wrong("packs_rows", "the plan is no contraction");
      if (version.short_rows) TAILOR_RETURN_IF_ERROR(VerifyShortRows(version));
      if (version.parts) TAILOR_RETURN_IF_ERROR(VerifyParts(*version.parts));
    }
    return absl::OkStatus();
  }

  absl::Status VerifyShortRows(const Version& version) const {
    const std::vector<int> axes = AxesOf(plan_, AxisRole::kTile);
    if (axes.size() != 1 || plan_.axes.size() != 2 || s_.lane_axis != axes[0] || version.parts || version.streams)
      return Wrong("short_rows", "is for rows with lanes along them");
    const DimSize& length = plan_.axes[axes[0]].dim_size;
    const Guard shorter{.kind = Guard::Kind::kAtMost, .slot = length.slot, .number = s_.lanes - 1};
    const bool is_shorter =
        length.is_constant() ? length.constant < s_.lanes
                             : std::find(version.guards.begin(), version.guards.end(), shorter) != version.guards.end();
    if (version.no_broadcast != BroadcastVersions(plan_)[0].no_broadcast)
      return Wrong("short_rows", "needs versions without broadcasts");
    return is_shorter ? absl::OkStatus() : Wrong("short_rows", "is for rows shorter than a vector");
  }

  absl::Status VerifyParts(const PartTasks& parts) const {
    if (plan_.IsContraction() || plan_.IsChain() || s_.windows || s_.cross_axis >= 0)
      return Wrong("parts", "are only for row kernels");
    const std::vector<int> axes = AxesOf(plan_, AxisRole::kTile);
    if (axes.empty() || parts.axis != axes.front()) return Wrong("parts axis", "must be the outermost tile axis");
    const std::vector<Phase> phases = PhasesOf(plan_);
    if (parts.phases != static_cast<int>(phases.size()))
      return Wrong("parts phases", "must be as many as the plan has");
    if (parts.serial != PhasesWithoutLoops(phases)) return Wrong("parts serial", "must be the phases without loops");
    if (!IsOverSlotsOf(plan_, parts.count) || parts.count.constant().value_or(1) < 1)
      return Wrong("parts count", "must be at least 1");
    if (!IsOverSlotsOf(plan_, parts.scratch_bytes) || parts.scratch_bytes.constant().value_or(1) < 1)
      return Wrong("parts scratch_bytes", "must be at least 1");
    if (parts.tasks != s_.tasks * parts.count) return Wrong("parts tasks", "must be tasks * count");
    return absl::OkStatus();
  }

  static constexpr int kMostRows = 64, kMostPanels = 64;  // per micro-kernel
  static constexpr int64_t kMostTaskRows = 1 << 15;       // 16 bits of a TilingWord

  const KernelPlan& plan_;
  const Schedule& s_;
  const bool is_link_;
};

// Whether the guards imply that no dim size under a broadcast is 1.
bool ExcludesBroadcasts(const KernelPlan& plan, const Version& version) {
  const Version present = BroadcastVersions(plan).front();
  if (!present.no_broadcast) return false;  // there is none to exclude
  for (const Guard& needed : present.guards) {
    if (std::find(version.guards.begin(), version.guards.end(), needed) == version.guards.end()) return false;
  }
  return true;
}

absl::Status VerifyGuard(const KernelPlan& plan, const Guard& guard) {
  using Kind = Guard::Kind;
  const auto wrong = [&](absl::string_view what) {
    return ScheduleError(plan, absl::StrCat("guard ", guard.Text()), what);
  };
  const auto is_slot = [&](int32_t slot) { return slot >= 0 && slot < static_cast<int32_t>(plan.dims.size()); };
  if (guard.kind > Kind::kValueAtMost) return ScheduleError(plan, "guard", "has an unknown kind");
  const bool of_value = guard.kind >= Kind::kOutgrowsCache;
  if (of_value ? guard.slot != -1 || guard.other != -1 : !is_slot(guard.slot))
    return wrong("refers to a slot that does not exist");
  if (of_value && !IsOverSlotsOf(plan, guard.value, /*workers=*/true))
    return wrong("refers to a slot that does not exist");
  // The cache size is unknown at compile time, so kOutgrowsCache may compare a constant.
  if (of_value && (guard.kind == Kind::kOutgrowsCache ? guard.value == 0 : guard.value.constant().has_value()))
    return wrong("compares a constant");
  if (!of_value && guard.value != 0) return wrong("has both a slot and a value");
  if (guard.other != -1 && (guard.kind != Kind::kEqual || !is_slot(guard.other) || guard.number != 0))
    return wrong("has a second slot that does not belong");
  if (guard.kind == Kind::kDivides && guard.number < 2) return wrong("needs a divisor of at least 2");
  if (guard.kind == Kind::kOutgrowsCache && guard.number != 0) return wrong("has a number");
  if (guard.number < 0) return wrong("has a negative bound");
  return absl::OkStatus();
}

}  // namespace

absl::Status ScheduleError(const KernelPlan& plan, absl::string_view where, absl::string_view what) {
  return absl::InternalError(absl::StrCat("schedule of ", plan.name, ": ", where, ": ", what));
}

bool IsOverSlotsOf(const KernelPlan& plan, const SlotExpr& value, bool workers) {
  if (!value.valid()) return false;
  const std::vector<int32_t> slots = value.Slots();
  if (!slots.empty() && slots.back() >= static_cast<int32_t>(plan.dims.size())) return false;
  return workers || !value.OverWorkers();
}

absl::Status VerifyVersion(const KernelPlan& plan, const Version& version, bool last) {
  for (const Guard& guard : version.guards) {
    TAILOR_RETURN_IF_ERROR(VerifyGuard(plan, guard));
    if (std::count(version.guards.begin(), version.guards.end(), guard) > 1)
      return ScheduleError(plan, absl::StrCat("guard ", guard.Text()), "is repeated");
  }
  if (last && !version.guards.empty()) return ScheduleError(plan, "versions", "the last has guards");
  if (version.no_broadcast && !ExcludesBroadcasts(plan, version))
    return ScheduleError(plan, "versions no_broadcast", "does not agree with the guards");
  const bool outgrows = std::any_of(version.guards.begin(), version.guards.end(),
                                    [](const Guard& guard) { return guard.kind == Guard::Kind::kOutgrowsCache; });
  if (version.streams != outgrows) return ScheduleError(plan, "versions streams", "does not agree with the guards");
  return absl::OkStatus();
}

absl::Status VerifySchedule(const KernelPlan& plan, const Schedule& schedule) {
  return ScheduleVerifier(plan, schedule).Verify();
}

}  // namespace tailor
