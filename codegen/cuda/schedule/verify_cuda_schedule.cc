#include "codegen/cuda/schedule/verify_cuda_schedule.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "codegen/cuda/schedule/matmul_plan.h"
#include "codegen/cuda/schedule/operand_maps.h"
#include "codegen/cuda/schedule/transposed_tiles.h"
#include "codegen/plan/contraction.h"
#include "codegen/plan/plan_queries.h"
#include "codegen/plan/verify_schedule.h"
#include "graph/status_macros.h"

namespace tailor::cuda {
namespace {

using Shape = CudaVersion::Shape;

constexpr int kMostThreads = 1024;

bool IsPowerOf2UpTo(int value, int most) {
  return value >= 1 && value <= most && std::has_single_bit(static_cast<unsigned>(value));
}

class VersionVerifier {
 public:
  VersionVerifier(const KernelPlan& plan, const CudaVersion& version) : plan_(plan), v_(version) {}

  absl::Status Verify() const {
    if (v_.shape > Shape::kAttentionTile) return Wrong("shape", "is unknown");
    if (plan_.IsChain()) return Wrong("shape", "a chain has no GPU form");
    if (plan_.IsContraction() != (v_.shape == Shape::kMatmulTile) ||
        plan_.IsAttention() != (v_.shape == Shape::kAttentionTile))
      return Wrong("shape", "does not fit the form of the plan");
    if (v_.threads < kWarp || v_.threads > kMostThreads || v_.threads % kWarp != 0)
      return Wrong("threads", "must be whole warps, at most 1024");
    TAILOR_RETURN_IF_ERROR(VerifyTiles());
    TAILOR_RETURN_IF_ERROR(VerifyLoops());
    return VerifyLaunch();
  }

 private:
  absl::Status Wrong(absl::string_view where, absl::string_view what) const {
    return ScheduleError(plan_, where, what);
  }

  absl::Status VerifyTiles() const {
    if (v_.shape != Shape::kMatmulTile && v_.tile != MatmulTile()) return Wrong("tile", "is for matmul tiles only");
    if (v_.shape != Shape::kAttentionTile && v_.attention != AttentionTile())
      return Wrong("attention", "is for attention tiles only");
    if (v_.shape == Shape::kMatmulTile) return VerifyMatmulTile();
    return v_.shape == Shape::kAttentionTile ? VerifyAttentionTile() : absl::OkStatus();
  }

  absl::Status VerifyMatmulTile() const {
    using Kind = MatmulTile::Kind;
    const MatmulTile& tile = v_.tile;
    const auto at_least_one = {tile.rows,         tile.columns, tile.depth,    tile.part_rows,
                               tile.part_columns, tile.slices,  tile.pass_rows};
    if (tile.kind > Kind::kWarpgroup) return Wrong("tile kind", "is unknown");
    if (std::min(at_least_one) < 1) return Wrong("tile", "a size is less than 1");
    if (tile.rows % tile.part_rows != 0 || tile.columns % tile.part_columns != 0)
      return Wrong("tile part_rows", "and part_columns must divide the tile");
    if (tile.rows % tile.pass_rows != 0) return Wrong("tile pass_rows", "must divide rows");
    if (tile.depth % tile.slices != 0 && (tile.kind == Kind::kSimt || tile.kind == Kind::kMma))
      return Wrong("tile slices", "must divide depth");
    const bool streams = tile.kind == Kind::kPanelStream || tile.kind == Kind::kMmaStream;
    if (streams ? tile.stages != 0 : tile.stages < 1)
      return Wrong("tile stages", streams ? "must be 0: tiles that stream have none" : "must be at least 1");
    if ((tile.kind == Kind::kWarpgroup) != (tile.copying_warps > 0) || tile.copying_warps < 0)
      return Wrong("tile copying_warps", "must be set exactly for warpgroup tiles");
    const bool rounds = MayRoundSums(tile, TypesOf(plan_, ContractionOf(plan_))) && !v_.cooperative;
    if (tile.rounds_sums != rounds) return Wrong("tile rounds_sums", "must be set exactly where sums may be rounded");
    if (tile.threads() != v_.threads) return Wrong("threads", absl::StrCat("the tile has ", tile.threads()));
    if (v_.resident_blocks > tile.resident_blocks) return Wrong("resident_blocks", "must be at most the tile's");
    const bool maps = tile.kind == Kind::kWarpgroup;
    if (maps ? v_.maps != OperandMaps(plan_, ContractionOf(plan_), tile) : !v_.maps.empty())
      return Wrong("maps", "must be OperandMaps, for warpgroup tiles only");
    return absl::OkStatus();
  }

  absl::Status VerifyAttentionTile() const {
    const AttentionTile& tile = v_.attention;
    if (tile.kind > AttentionTile::Kind::kSimt) return Wrong("attention kind", "is unknown");
    if (tile.rows < 1 || tile.rows % AttentionTile::kWarpRows != 0)
      return Wrong("attention rows", "must be a multiple of 16");
    if (tile.keys < 1 || tile.slices < 1 || tile.keys % tile.slices != 0)
      return Wrong("attention keys", "must be a multiple of slices");
    if (tile.stages < 1 || tile.stages > 2) return Wrong("attention stages", "must be 1 or 2");
    if (tile.depth < 16 || tile.depth % 16 != 0 || tile.columns < 16 || tile.columns % 16 != 0)
      return Wrong("attention depth", "and columns must be multiples of 16");
    if (tile.threads() != v_.threads) return Wrong("threads", absl::StrCat("the tile has ", tile.threads()));
    if (v_.shared_bytes != SharedBytes(tile))
      return Wrong("shared_bytes", absl::StrCat("the tile takes ", SharedBytes(tile)));
    if (!v_.maps.empty()) return Wrong("maps", "are for matmuls");
    return absl::OkStatus();
  }

  absl::Status VerifyLoops() const {
    const CudaVersion fresh;
    if (!IsPowerOf2UpTo(v_.lanes, 16)) return Wrong("lanes", "must be a power of two up to 16");
    if (v_.lane_axis < -1 || v_.lane_axis >= static_cast<int>(plan_.axes.size()) ||
        (v_.lane_axis >= 0) != (v_.lanes > 1))
      return Wrong("lane_axis", "must be an axis exactly where there are several lanes");
    if (v_.shape == Shape::kRows) {
      if (!IsPowerOf2UpTo(v_.row_threads, v_.threads))
        return Wrong("row_threads", "must be a power of two up to threads");
      if (v_.row_threads > kWarp && v_.row_threads != v_.threads)
        return Wrong("row_threads", "must be part of a warp, or the block");
    } else if (v_.row_threads != fresh.row_threads) {
      return Wrong("row_threads", "are for rows");
    }
    if (v_.shape == Shape::kTransposed && !TransposedTiles(plan_))
      return Wrong("shape", "the plan has no transposed tiles");
    if (v_.shape == Shape::kColumns && AxesOf(plan_, AxisRole::kTile).empty())
      return Wrong("shape", "the plan has no tile axis to share");
    if (v_.vectors_per_thread < 0 || (v_.vectors_per_thread > 0 && v_.shape != Shape::kRows))
      return Wrong("vectors_per_thread", "are for rows");
    if (v_.rows_in_shared && v_.shape != Shape::kRows) return Wrong("rows_in_shared", "is for rows");
    const bool reduces = v_.shape == Shape::kRows || v_.shape == Shape::kColumns;
    if (v_.partial_bytes < 0 || (v_.partial_bytes > 0 && !reduces))
      return Wrong("partial_bytes", "are for rows and columns");
    if (v_.partial_bytes % 8 != 0) return Wrong("partial_bytes", "must be a multiple of 8");
    return absl::OkStatus();
  }

  absl::Status VerifyLaunch() const {
    const auto is_count = [&](const SlotExpr& value, bool workers) {
      return IsOverSlotsOf(plan_, value, workers) && value.constant().value_or(0) >= 0;
    };
    if (!is_count(v_.blocks, false)) return Wrong("blocks", "must be at least 0, over slots of the plan");
    if (!is_count(v_.shared_bytes, false)) return Wrong("shared_bytes", "must be at least 0, over slots of the plan");
    if (!is_count(v_.scratch_bytes, true)) return Wrong("scratch_bytes", "must be at least 0, over slots of the plan");
    if (!is_count(v_.clocks, true)) return Wrong("clocks", "must be at least 0, over slots of the plan");
    if (!is_count(v_.parts, false)) return Wrong("parts", "must be at least 0, over slots of the plan");
    if (!v_.cooperative && v_.parts != 1) return Wrong("parts", "are for cooperative launches");
    if (v_.cooperative && !v_.persistent) return Wrong("cooperative", "needs persistent");
    if (v_.persistent && v_.resident_blocks < 1) return Wrong("persistent", "needs resident_blocks");
    if (v_.resident_blocks < 0 || v_.resident_blocks > 32) return Wrong("resident_blocks", "are out of range");
    if (v_.shape != Shape::kMatmulTile && !v_.maps.empty()) return Wrong("maps", "are for matmuls");
    if (v_.cooperative) {
      if (v_.scratch_bytes == 0) return Wrong("cooperative", "needs scratch for the parts");
    } else if (v_.scratch_bytes != (v_.rows_in_shared ? SlotExpr(0) : RowBytes(plan_))) {
      return Wrong("scratch_bytes", "must be what row buffers outside shared memory take");
    }
    return absl::OkStatus();
  }

  const KernelPlan& plan_;
  const CudaVersion& v_;
};

}  // namespace

absl::Status VerifyCudaSchedule(const KernelPlan& plan, const CudaSchedule& schedule) {
  if (schedule.versions.empty()) return ScheduleError(plan, "versions", "there is none");
  for (const CudaVersion& version : schedule.versions) {
    if (version.version.parts || version.version.short_rows || version.version.packs_rows)
      return ScheduleError(plan, "version parts, short_rows, packs_rows", "are for CPUs");
    TAILOR_RETURN_IF_ERROR(VerifyVersion(plan, version.version, &version == &schedule.versions.back()));
    TAILOR_RETURN_IF_ERROR(VersionVerifier(plan, version).Verify());
  }
  return absl::OkStatus();
}

}  // namespace tailor::cuda
