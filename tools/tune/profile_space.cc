#include "tools/tune/profile_space.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tailor::tune {
namespace {

constexpr int64_t kWhole = 100;  // percent
constexpr float kMostCost = 1e30f;

// The tiles of some rows or some panels.
using TileRange = std::vector<std::pair<int, int>>;

TileRange KnownTiles(const CostProfile& profile, int rows_from, int rows_to, int panels_from, int panels_to) {
  TileRange tiles;
  for (int rows = rows_from; rows <= rows_to; ++rows) {
    for (int panels = panels_from; panels <= panels_to; ++panels) {
      if (profile.Of(rows, panels).known()) tiles.emplace_back(rows, panels);
    }
  }
  return tiles;
}

}  // namespace

ProfileSpace::ProfileSpace(const CostProfile& base) : base_(base) {
  ScaleTiles();
  ScaleCost("line", &CostProfile::line_ns);
  ScaleCost("task", &CostProfile::chunk_ns);
  ScaleCost("cached_bytes", &CostProfile::cached_bytes);
  Set({"margin", {0, 15, 30, 60, 120, 1000}}, &CostProfile::margin, 0.001f);
  Set({"ahead", {0, 16, 32, 64, 128}}, &CostProfile::prefetch_distance, 1);
}

void ProfileSpace::ScaleTiles() {
  const auto scale = [&](std::string name, TileRange tiles) {
    if (tiles.empty()) return;
    changes_.push_back({{std::move(name), {80, 88, 95, kWhole, 105, 114, 125}},
                        kWhole,
                        [tiles = std::move(tiles)](int64_t percent, CostProfile* profile) {
                          const float factor = static_cast<float>(percent) / kWhole;
                          for (const auto& [rows, panels] : tiles) {
                            TileCost& tile = profile->Of(rows, panels);
                            tile = {tile.fixed * factor, tile.near_step * factor, tile.far_step * factor};
                          }
                        }});
  };
  for (int rows = 1; rows <= CostProfile::kRows; ++rows) {
    scale("rows " + std::to_string(rows), KnownTiles(base_, rows, rows, 1, CostProfile::kPanels));
  }
  for (int panels = 1; panels <= CostProfile::kPanels; ++panels) {
    scale("panels " + std::to_string(panels), KnownTiles(base_, 1, CostProfile::kRows, panels, panels));
  }
}

void ProfileSpace::ScaleCost(std::string name, float CostProfile::*cost) {
  changes_.push_back(
      {{std::move(name), {25, 50, kWhole, 200, 400}}, kWhole, [cost](int64_t percent, CostProfile* profile) {
         profile->*cost = std::min(profile->*cost * static_cast<float>(percent) / kWhole, kMostCost);
       }});
}

void ProfileSpace::Set(Parameter parameter, float CostProfile::*cost, float unit) {
  const int64_t unchanged = std::lround(base_.*cost / unit);
  std::vector<int64_t>& values = parameter.values;
  if (std::find(values.begin(), values.end(), unchanged) == values.end()) values.push_back(unchanged);
  std::sort(values.begin(), values.end());
  changes_.push_back({std::move(parameter), unchanged, [cost, unit](int64_t value, CostProfile* profile) {
                        profile->*cost = static_cast<float>(value) * unit;
                      }});
}

SearchSpace ProfileSpace::Space() const {
  std::vector<Parameter> parameters;
  for (const Change& change : changes_) parameters.push_back(change.parameter);
  return SearchSpace(
      std::move(parameters), [](const Assignment&) { return true; }, [](const Assignment&) { return 0.0; });
}

Point ProfileSpace::Unchanged() const {
  Assignment values;
  for (const Change& change : changes_) values.push_back(change.unchanged);
  return Space().Nearest(values);
}

CostProfile ProfileSpace::At(const Point& point) const {
  CostProfile profile = base_;
  const Assignment values = Space().ValuesOf(point);
  for (size_t i = 0; i < changes_.size(); ++i) {
    if (values[i] != changes_[i].unchanged) changes_[i].applied(values[i], &profile);
  }
  return profile;
}

}  // namespace tailor::tune
