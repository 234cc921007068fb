// Predictions of the wave model for matmuls whose last wave does not fill a GPU: one tile for the whole plane; the
// plane split in two with a tile for each part (pattern II of MikPoly, section 3.4); Stream-K. The table is that of
// docs/decisions/gpu-matmuls.md.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/ptx/target.h"
#include "codegen/cuda/schedule/gemm_cost_model.h"
#include "gtest/gtest.h"
#include "tests/codegen/plan/matmul_case.h"

namespace tailor::cuda {
namespace {

// Of DeepBench's list those with more rows than streams take. Its matrices are column-major: rows here are its columns.
std::vector<MatmulCaseSize> Sizes() {
  std::vector<MatmulCaseSize> sizes;
  std::ifstream file(TAILOR_SOURCE_DIR "/bench/data/deepbench_gemm.csv");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> cells = absl::StrSplit(line, ',');
    MatmulCaseSize size{};
    if (cells.size() < 4 || !absl::SimpleAtoi(cells[1], &size.n) || !absl::SimpleAtoi(cells[2], &size.m) ||
        !absl::SimpleAtoi(cells[3], &size.k)) {
      continue;
    }
    if (size.m > 16) sizes.push_back(size);
  }
  return sizes;
}

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Clocks of one matmul.
struct Prediction {
  int64_t one_tile = INT64_MAX, shared = INT64_MAX, two_launches = INT64_MAX, one_launch = INT64_MAX;
};

class Model {
 public:
  Model(const char* target, int64_t workers)
      : plan_(MakeMatmulPlan({.dtype = DType::kBF16, .pairs = false})),
        schedule_(*ScheduleOnCuda(plan_, FindCudaTarget(target)->traits)),
        workers_(workers) {}

  Prediction Predict(const MatmulCaseSize& size) const {
    Prediction out;
    const std::vector<int64_t> dims = DimsOf(plan_, size);
    std::vector<const CudaVersion*> tiles;
    for (const CudaVersion& version : schedule_.versions) {
      const std::vector<Guard>& guards = version.version.guards;
      if (version.clocks == 0 || (!guards.empty() && size.k % guards[0].number != 0)) continue;
      const int64_t clocks = *version.clocks.WithWorkers(workers_).Evaluate(dims);
      out.shared = std::min(out.shared, clocks);
      if (version.cooperative) continue;
      out.one_tile = std::min(out.one_tile, clocks);
      tiles.push_back(&version);
    }
    out.two_launches = out.one_launch = out.one_tile;
    for (const CudaVersion* first : tiles) {
      for (const CudaVersion* second : tiles) {
        if (first != second) TryTilings(size, first->tile, second->tile, out);
      }
    }
    return out;
  }

 private:
  static constexpr MatmulTypes kTypes = {DType::kBF16, DType::kF32, DType::kBF16, false};

  int64_t TileClocks(const MatmulTile& tile, int64_t k) const {
    return *MatmulClocks(tile, kTypes, 1, k).WithWorkers(1).constant();
  }
  static int64_t Count(const MatmulTile& tile, int64_t m, int64_t n) {
    return CeilDiv(m, tile.rows) * CeilDiv(n, tile.columns);
  }

  // Rows of `first` and then of `second`, or columns, wherever the cut is.
  void TryTilings(const MatmulCaseSize& size, const MatmulTile& first, const MatmulTile& second,
                  Prediction& out) const {
    const int64_t of_first = TileClocks(first, size.k), of_second = TileClocks(second, size.k);
    for (int64_t m = first.rows; m < size.m; m += first.rows) {
      Try({Count(first, m, size.n), of_first}, {Count(second, size.m - m, size.n), of_second}, out);
    }
    for (int64_t n = first.columns; n < size.n; n += first.columns) {
      Try({Count(first, size.m, n), of_first}, {Count(second, size.m, size.n - n), of_second}, out);
    }
  }

  struct Region {
    int64_t tiles, clocks;
  };
  // One region behind the other (MikPoly, equation 2), and tiles of the second taken as soon as a multiprocessor is
  // done with those of the first.
  void Try(const Region& a, const Region& b, Prediction& out) const {
    out.two_launches =
        std::min(out.two_launches, CeilDiv(a.tiles, workers_) * a.clocks + CeilDiv(b.tiles, workers_) * b.clocks);
    const int64_t turns = a.tiles / workers_, late = a.tiles % workers_, early = workers_ - late;
    int64_t low = 0, high = CeilDiv(b.tiles, workers_) * b.clocks + a.clocks;  // behind the turns that all take
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      const int64_t done = early * (middle / b.clocks) + late * (std::max<int64_t>(middle - a.clocks, 0) / b.clocks);
      (done >= b.tiles ? high : low) = done >= b.tiles ? middle : middle + 1;
    }
    const int64_t behind = late > 0 ? std::max(low, a.clocks) : low;
    out.one_launch = std::min(out.one_launch, turns * a.clocks + behind);
  }

  KernelPlan plan_;
  CudaSchedule schedule_;
  int64_t workers_;
};

// Clocks against those of one tile: the geometric mean, the least, and how many matmuls save a tenth.
class Column {
 public:
  void Add(int64_t clocks, int64_t of_one_tile) {
    const double ratio = static_cast<double>(clocks) / static_cast<double>(of_one_tile);
    logs_ += std::log(ratio);
    least_ = std::min(least_, ratio);
    saved_ += ratio <= 0.9;
    ++count_;
  }
  std::string Text() const { return absl::StrFormat("%.3f %.3f %d", std::exp(logs_ / count_), least_, saved_); }

 private:
  double logs_ = 0, least_ = 1;
  int saved_ = 0, count_ = 0;
};

std::string TableOf(const char* target, int64_t workers) {
  const Model model(target, workers);
  Column shared, two, one, both;
  for (const MatmulCaseSize& size : Sizes()) {
    const Prediction p = model.Predict(size);
    shared.Add(p.shared, p.one_tile);
    two.Add(p.two_launches, p.one_tile);
    one.Add(p.one_launch, p.one_tile);
    both.Add(std::min(p.shared, p.one_launch), p.one_tile);
  }
  return absl::StrCat("shared ", shared.Text(), ", two launches ", two.Text(), ", one launch ", one.Text(), ", both ",
                      both.Text());
}

TEST(CudaMatmulWaves, WhatSharesAndTwoKindsOfTilesWouldSave) {
  EXPECT_EQ(Sizes().size(), 185u);
  EXPECT_EQ(TableOf("sm_80", 108),
            "shared 0.918 0.477 48, two launches 0.992 0.806 3, one launch 0.991 0.806 3, both 0.918 0.477 48");
  EXPECT_EQ(TableOf("sm_90", 132),
            "shared 0.906 0.468 54, two launches 0.990 0.809 3, one launch 0.989 0.809 3, both 0.904 0.468 55");
  EXPECT_EQ(TableOf("sm_90a", 132),
            "shared 1.000 1.000 0, two launches 0.931 0.605 40, one launch 0.909 0.605 50, both 0.909 0.605 50");
}

}  // namespace
}  // namespace tailor::cuda
