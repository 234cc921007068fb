#include "codegen/plan/schedule.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "codegen/plan/plan_queries.h"

namespace tailor {
namespace {

std::string GuardText(const Guard& guard) {
  switch (guard.kind) {
    case Guard::Kind::kDivides:
      return absl::StrCat("d", guard.slot, " mod ", guard.number, " == 0");
    case Guard::Kind::kEqual:
      if (guard.other >= 0) return absl::StrCat("d", guard.slot, " == d", guard.other);
      return absl::StrCat("d", guard.slot, " == ", guard.number);
    case Guard::Kind::kAtMost:
      return absl::StrCat("d", guard.slot, " <= ", guard.number);
    case Guard::Kind::kAtLeast:
      return absl::StrCat("d", guard.slot, " >= ", guard.number);
    case Guard::Kind::kOutgrowsCache:
      return absl::StrCat(guard.value.Text(), " bytes outgrow the cache");
    case Guard::Kind::kValueAtLeast:
      return absl::StrCat(guard.value.Text(), " >= ", guard.number);
    case Guard::Kind::kValueAtMost:
      return absl::StrCat(guard.value.Text(), " <= ", guard.number);
  }
  return "?";
}

}  // namespace

std::string VersionText(const Version& version) {
  if (version.guards.empty()) return "always";
  return absl::StrJoin(version.guards, " and ",
                       [](std::string* out, const Guard& guard) { absl::StrAppend(out, GuardText(guard)); });
}

std::vector<Version> BroadcastVersions(const KernelPlan& plan) {
  Version present;  // no extent under a broadcast is 1
  for (ExprId id : ReachableExprs(plan)) {
    const Expr& e = plan.exprs[id];
    if (e.kind != ExprKind::kBcastIndex) continue;
    Guard guard{.kind = Guard::Kind::kAtLeast, .slot = e.extent.slot, .number = 2};
    if (std::find(present.guards.begin(), present.guards.end(), guard) == present.guards.end()) {
      present.guards.push_back(guard);
    }
  }
  if (present.guards.empty()) return {Version{}};
  present.no_broadcast = true;
  return {present, Version{}};
}

bool LanesAcrossRows(const KernelPlan& plan, const Schedule& schedule) {
  return schedule.lane_axis >= 0 && plan.axes[schedule.lane_axis].role == AxisRole::kParallel;
}

std::string CutText(const ProductCut& cut) {
  return absl::StrCat(cut.whole_rows ? "whole " : "", cut.rows, "x", cut.whole_panels ? "whole " : "", cut.panels,
                      " panels, task ", cut.task_rows, " rows x ", cut.task_panels, " panels",
                      cut.most_m < INT64_MAX ? absl::StrCat(", m in [", cut.least_m, ", ", cut.most_m, "]") : "");
}

std::string Schedule::Text(const KernelPlan& plan) const {
  std::string out;
  if (plan.IsChain()) {
    out = absl::StrCat("blocks of ", links[0].tile.task_rows, " rows\n");
  } else if (plan.IsContraction()) {
    out = absl::StrCat(
        "tile ", tile.rows, "x", tile.panels, " panels, ",
        tile.tall_rows > tile.rows ? absl::StrCat("tall ", tile.tall_rows, "x", tile.tall_panels, ", ") : "", "task ",
        tile.task_rows, " rows x ", tile.task_panels, " panels, depth ", tile.depth,
        tile.winograd_tiles > 0 ? absl::StrCat(", winograd by ", tile.winograd_tiles, " tiles") : "", "\n");
    for (const ProductCut& cut : tile.cuts) absl::StrAppend(&out, "or ", CutText(cut), "\n");
  } else {
    out = absl::StrCat(
        "lanes ", lanes, " along ", lane_axis < 0 ? "nothing" : absl::StrCat("a", lane_axis), ", unroll ", unroll,
        rows > 1 ? absl::StrCat(", rows ", rows, short_row > 0 ? absl::StrCat(" of up to ", short_row) : "") : "",
        ahead > 0 ? absl::StrCat(behind ? ", ahead and behind" : ", ahead", " in stage ", ahead) : "",
        block_rows > 0 ? absl::StrCat(", ", block_rows, " at a time") : "",
        lane_chunk > 0 ? absl::StrCat(", chunk ", lane_chunk) : "",
        cross_axis >= 0 ? absl::StrCat(", across a", cross_axis, ", chunk ", cross_chunk) : "",
        windows ? ", windows of blocks" : "", "\n");
  }
  absl::StrAppend(&out, "tasks ", tasks.Text(), ", grain ", grain.Text(), ", scratch ", scratch_bytes.Text(), "\n");
  for (const Version& version : versions) {
    absl::StrAppend(&out, "version: ", VersionText(version), "\n");
    if (!version.parts) continue;
    absl::StrAppend(&out, "  in ", version.parts->phases, " phases, parts ", version.parts->count.Text(), " along a",
                    version.parts->axis, ", tasks ", version.parts->tasks.Text(), ", scratch ",
                    version.parts->scratch_bytes.Text(), "\n");
  }
  for (size_t i = 0; i < links.size(); ++i)
    absl::StrAppend(&out, "link ", i, ": ", links[i].Text(plan.links()[i].plan));
  return out;
}

}  // namespace tailor
