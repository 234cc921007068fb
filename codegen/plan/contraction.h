// The parts of a matmul kernel, whose axes and stages ContractionForm states:
//   sums[batch..., m, n] = sum over k of lhs[f(batch, m, k)] * rhs[g(batch), k, n],
// where each index of f is a part that depends on m plus a part that depends on k. The lhs may be a staging buffer: the
// previous stage computes its elements over axes of its own, which follow k.
#ifndef TAILOR_CODEGEN_PLAN_CONTRACTION_H_
#define TAILOR_CODEGEN_PLAN_CONTRACTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "codegen/plan/access_map.h"
#include "codegen/plan/kernel_plan.h"

namespace tailor {

// A rhs that matmuls of few rows read where it is in memory: the plan's factor is `condition ? load : panels`.
struct InPlaceRhs {
  ExprId condition;  // over dim sizes
  Expr load;         // of a matrix (MatrixRowsOf)
};

struct Contraction {
  std::vector<int> batch;  // axes, outer first
  int m = -1, n = -1, k = -1;
  int fill = -1;                       // the stage that fills the staging buffer of the lhs; -1: the lhs is in memory
  size_t stage = 0;                    // the stage that sums; the later stages are the epilogue
  int dilation = 1;                    // ContractionForm::dilation
  bool channels_last = false;          // ContractionForm::channels_last
  Expr lhs, rhs;                       // loads; the rhs is panels, or row-major (TargetTraits::packed_rhs)
  std::optional<InPlaceRhs> in_place;  // the alternative to panels (TargetTraits::most_rows_in_place)
  int sums = -1;                       // the kLocal buffer that receives the sums
  DType accumulate = DType::kInvalid;  // f32 or f64
};

// Requires a verified plan with ContractionForm.
Contraction ContractionOf(const KernelPlan& plan);

// The map of a load along `axis`. Adds expressions to `plan`.
AccessMap MapOf(KernelPlan& plan, const Expr& load, int axis);

// How a load reads a matrix where it is in memory: affine along axes n and k, and contiguous along one of them.
enum class MatrixRows : uint8_t { kNone, kAlongN, kAlongK };
MatrixRows MatrixRowsOf(KernelPlan plan, const Expr& load, int n, int k);

// The accesses of the epilogue that are contiguous along axis `along` (m or n), one run per index of the other axis.
// Includes stores, in the form of loads. Only accesses with plain arithmetic indices.
std::vector<Expr> EpilogueRuns(KernelPlan& plan, const Contraction& contraction, int along);

// Whether all epilogue stores are contiguous along m and not along n.
bool StoresAlongRows(KernelPlan& plan, const Contraction& contraction);

// The possible values of an axis' dim size.
struct DimSizeRange {
  int64_t max;
  int64_t divisor;  // divides the dim size
  bool fixed;       // the dim size is always `max`
};
DimSizeRange RangeOfDimSize(const KernelPlan& plan, const DimSize& dim_size);
// Thresholds of CPU schedules. Kernels on different sides of one are not merged (codegen/lower/share_kernels.h).
inline constexpr int64_t kSmallRhsBytes = 1 << 16;    // smaller rhs are not prefetched
inline constexpr int64_t kLargeRhsBytes = 1 << 20;    // rhs from this size on take tall tiles
inline constexpr int64_t kShortDepth = 640;           // up to this K, results stored along rows have more rows per task
inline constexpr int64_t kTransposedDepth = 64;       // up to this K, transposing sums takes long beside summing
inline constexpr int64_t kMostRowVectorColumns = 24;  // up to this N, lanes may run along rows
inline constexpr int64_t kMostStagedColumns = 32;     // the same, with eight lanes and a staging buffer
// From these K and N on, matmuls whose results lie along rows pack rows (codegen/cpu/gemm/pack_rows.h).
inline constexpr int64_t kLeastPackedDepth = 96, kLeastPackedColumns = 128, kLeastGatheredColumns = 256;
// From this K on they pack few rows, too, where tiles have few rows: a tile's lines, one per step, fill a third of L1.
inline constexpr int64_t kManyLines = 160;
inline constexpr int64_t kDepthBytes = 4096;  // K block: as many steps as accumulators in these bytes

// Whether the number of result columns is always a multiple of the panel width.
bool HasWholePanels(const KernelPlan& plan, const Contraction& contraction);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_PLAN_CONTRACTION_H_
