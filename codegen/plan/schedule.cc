#include "codegen/plan/schedule.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "codegen/plan/plan_queries.h"
#include "codegen/plan/schedule_fields.h"
#include "graph/status_macros.h"

namespace tailor {
namespace {

// Parses a slot, "d7".
bool ConsumeSlot(absl::string_view* text, int32_t* slot) {
  const size_t length = std::min(text->find(' '), text->size());
  const absl::string_view word = text->substr(0, length);
  if (!absl::StartsWith(word, "d") || !absl::SimpleAtoi(word.substr(1), slot) || *slot < 0) return false;
  text->remove_prefix(length);
  return true;
}

absl::StatusOr<Guard> ParseValueGuard(absl::string_view text, Guard::Kind kind, absl::string_view comparison) {
  const size_t at = text.rfind(comparison);
  Guard guard{.kind = kind};
  TAILOR_ASSIGN_OR_RETURN(guard.value, SlotExpr::Parse(text.substr(0, at)));
  if (kind != Guard::Kind::kOutgrowsCache && !absl::SimpleAtoi(text.substr(at + comparison.size()), &guard.number)) {
    return absl::InvalidArgumentError("expected an integer");
  }
  return guard;
}

}  // namespace

std::string Guard::Text() const {
  switch (kind) {
    case Kind::kDivides:
      return absl::StrCat("d", slot, " mod ", number, " == 0");
    case Kind::kEqual:
      if (other >= 0) return absl::StrCat("d", slot, " == d", other);
      return absl::StrCat("d", slot, " == ", number);
    case Kind::kAtMost:
      return absl::StrCat("d", slot, " <= ", number);
    case Kind::kAtLeast:
      return absl::StrCat("d", slot, " >= ", number);
    case Kind::kOutgrowsCache:
      return absl::StrCat(value.Text(), " bytes outgrow the cache");
    case Kind::kValueAtLeast:
      return absl::StrCat(value.Text(), " >= ", number);
    case Kind::kValueAtMost:
      return absl::StrCat(value.Text(), " <= ", number);
  }
  return "?";
}

absl::StatusOr<Guard> Guard::Parse(absl::string_view text) {
  constexpr absl::string_view kOutgrows = " bytes outgrow the cache";
  if (absl::EndsWith(text, kOutgrows)) return ParseValueGuard(text, Kind::kOutgrowsCache, kOutgrows);
  absl::string_view rest = text;
  Guard guard{};
  if (ConsumeSlot(&rest, &guard.slot)) {
    const auto number = [&] { return absl::SimpleAtoi(rest, &guard.number); };
    if (absl::ConsumePrefix(&rest, " mod ")) {
      guard.kind = Kind::kDivides;
      if (absl::ConsumeSuffix(&rest, " == 0") && number()) return guard;
    } else if (absl::ConsumePrefix(&rest, " == ")) {
      guard.kind = Kind::kEqual;
      if (ConsumeSlot(&rest, &guard.other) ? rest.empty() : number()) return guard;
    } else if (absl::ConsumePrefix(&rest, " <= ")) {
      guard.kind = Kind::kAtMost;
      if (number()) return guard;
    } else if (absl::ConsumePrefix(&rest, " >= ")) {
      guard.kind = Kind::kAtLeast;
      if (number()) return guard;
    }
  }
  if (absl::StrContains(text, " >= ")) return ParseValueGuard(text, Kind::kValueAtLeast, " >= ");
  if (absl::StrContains(text, " <= ")) return ParseValueGuard(text, Kind::kValueAtMost, " <= ");
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no guard"));
}

void AddGuards(absl::Span<const Guard> guards, Version& version) {
  for (const Guard& guard : guards) {
    if (std::find(version.guards.begin(), version.guards.end(), guard) == version.guards.end()) {
      version.guards.push_back(guard);
    }
  }
}

std::string VersionText(const Version& version) {
  if (version.guards.empty()) return "always";
  return absl::StrJoin(version.guards, " and ",
                       [](std::string* out, const Guard& guard) { absl::StrAppend(out, guard.Text()); });
}

std::vector<Version> BroadcastVersions(const KernelPlan& plan) {
  Version present;  // no dim size under a broadcast is 1
  for (ExprId id : ReachableExprs(plan)) {
    const Expr& e = plan.exprs[id];
    if (e.kind != ExprKind::kBcastIndex) continue;
    Guard guard{.kind = Guard::Kind::kAtLeast, .slot = e.dim_size.slot, .number = 2};
    if (std::find(present.guards.begin(), present.guards.end(), guard) == present.guards.end()) {
      present.guards.push_back(guard);
    }
  }
  if (present.guards.empty()) return {Version{}};
  present.no_broadcast = true;
  return {present, Version{}};
}

Schedule OfVersion(const Schedule& schedule, size_t version) {
  Schedule alone = schedule;
  alone.versions = {schedule.versions[version]};
  ContractionTile& tile = alone.tile;
  if (alone.versions[0].packs_rows) {
    tile.rows = tile.packed_rows;
    tile.panels = tile.packed_panels;
    tile.tall_rows = tile.tall_panels = 0;
  } else {
    tile.packed_rows = tile.packed_panels = 0;
  }
  return alone;
}

bool LanesAcrossRows(const KernelPlan& plan, const Schedule& schedule) {
  return schedule.lane_axis >= 0 && plan.axes[schedule.lane_axis].role == AxisRole::kParallel;
}

std::string TilingText(const MatmulTiling& tiling) {
  return absl::StrCat(
      tiling.whole_rows ? "whole " : "", tiling.rows, "x", tiling.whole_panels ? "whole " : "", tiling.panels,
      " panels, task ", tiling.task_rows, " rows x ", tiling.task_panels, " panels",
      tiling.most_m < INT64_MAX ? absl::StrCat(", m in [", tiling.least_m, ", ", tiling.most_m, "]") : "");
}

std::string Schedule::Text() const { return RecordText(*this); }

absl::StatusOr<Schedule> ParseSchedule(absl::string_view text) {
  TextReader in(text);
  Schedule schedule;
  TAILOR_RETURN_IF_ERROR(ParseRecord(in, &schedule));
  if (!in.AtEnd()) return in.Error("expected the end");
  return schedule;
}

}  // namespace tailor
