#include "codegen/cuda/backend/retry_on_spill.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/schedule/reduce_registers.h"

namespace tailor::cuda {
namespace {

bool HasGuard(const Version& version, const Guard& guard) {
  return std::find(version.guards.begin(), version.guards.end(), guard) != version.guards.end();
}

// Whether a version without problems stands in for version `v`. Not for the last one, which serves all shapes, nor for
// one that may yet spill less with fewer lanes.
bool IsReplaceable(const CudaSchedule& schedule, const VersionFaults& faults, int v) {
  const auto count = static_cast<int>(schedule.versions.size());
  if (v == count - 1 || (faults.at(v).spills && schedule.versions[v].lanes > 1)) return false;
  for (int other = 0; other < count; ++other) {
    if (faults.count(other) == 0 && Replaces(schedule.versions[other], schedule.versions[v], faults.at(v).spills)) {
      return true;
    }
  }
  return false;
}

// Later turns take more steps at once, so that kAssemblingTurns reach the version with the fewest registers.
bool ReduceRegistersBy(int steps, CudaVersion& version) {
  bool any = false;
  for (int i = 0; i < steps && ReduceRegisters(version); ++i) any = true;
  return any;
}

std::string TextOf(const CudaVersion& version, const AssemblerProblem& fault) {
  return absl::StrCat(VersionText(version.version), ": ", version.ShapeText(), ", threads ", version.threads, " (",
                      fault.Summary(), ")");
}

}  // namespace

bool Replaces(const CudaVersion& other, const CudaVersion& version, bool spills) {
  if (other.clocks == 0 || version.clocks == 0 || (other.cooperative && !version.cooperative)) return false;
  for (const Guard& guard : other.version.guards) {
    if (!HasGuard(version.version, guard)) return false;
  }
  const MatmulTile &tile = other.tile, &spilling = version.tile;
  return !spills || (tile.kind == spilling.kind && tile.copying_warps == spilling.copying_warps &&
                     tile.rows * tile.columns <= spilling.rows * spilling.columns);
}

bool IsSerialised(const VersionFaults& faults, const CudaSchedule& schedule) {
  bool any = false;
  for (int v = 0; v < static_cast<int>(schedule.versions.size()); ++v) {
    if (schedule.versions[v].tile.kind != MatmulTile::Kind::kWarpgroup) continue;
    const auto fault = faults.find(v);
    if (fault == faults.end() || fault->second.spills) return false;
    any = true;
  }
  return any;
}

void NoteDropped(const VersionFaults& faults, const CudaSchedule& schedule, std::vector<std::string>& dropped) {
  dropped.clear();
  for (const auto& [v, fault] : faults) {
    const CudaVersion& version = schedule.versions[v];
    if (version.tile.kind == MatmulTile::Kind::kWarpgroup) dropped.push_back(TextOf(version, fault));
  }
}

bool RetryOnSpill(const VersionFaults& faults, int turn, CudaSchedule& schedule, std::vector<std::string>& dropped,
                  std::map<int, std::string>& notes) {
  const CudaSchedule was = schedule;
  bool changed = false;
  schedule.versions.clear();
  notes.clear();
  for (int v = 0; v < static_cast<int>(was.versions.size()); ++v) {
    CudaVersion version = was.versions[v];
    if (const auto fault = faults.find(v); fault != faults.end()) {
      const bool left_out = turn < kAssemblingTurns && IsReplaceable(was, faults, v);
      const bool lighter =
          !left_out && turn < kAssemblingTurns && fault->second.spills && ReduceRegistersBy(turn, version);
      if (left_out || lighter) {
        dropped.push_back(TextOf(was.versions[v], fault->second));
        changed = true;
      } else {
        notes[static_cast<int>(schedule.versions.size())] = fault->second.Summary();
      }
      if (left_out) continue;
    }
    schedule.versions.push_back(std::move(version));
  }
  return changed;
}

}  // namespace tailor::cuda
