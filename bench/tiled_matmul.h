// Compiles an f32 matmul that runs under any tiling, and measures the quality of the tiling choice
// (codegen/cpu/tiling/tiling_model.h). Uses compiler internals, since the C API cannot set a tiling.
#ifndef TAILOR_BENCH_TILED_MATMUL_H_
#define TAILOR_BENCH_TILED_MATMUL_H_

#include <memory>
#include <string>
#include <vector>

#include "codegen/cpu/tiling/tiling_model.h"
#include "tools/tune/plain_matmul.h"

namespace tailor::bench {

// "whole 6x4": tiles of 6 rows x 4 panels, full ones but for the last rows.
std::string TileText(const MatmulTiling& tiling);

// A matmul of the dim sizes in `form`, compiled for this machine, and its candidate tilings.
class TiledMatmul {
 public:
  explicit TiledMatmul(const tune::MatmulForm& form);

  const ContractionTile& tile() const { return tile_; }
  // The compiled matmul. A call may pass any tiling of family(), Rule(m), or any other whose tiles all fit the
  // registers.
  const tune::PlainMatmul& code() const { return *code_; }
  // The tiling that a launch of the compiler's own code would choose.
  MatmulTiling Chosen(const gemm::MatmulShape& dim_sizes) const;
  MatmulTiling Rule(int64_t m) const { return gemm::RuleTiling(tile_, pieces_, m); }
  // All candidate tilings that differ when one thread runs all tasks, including those that the compiler would not keep.
  const std::vector<MatmulTiling>& family() const { return family_; }

 private:
  ContractionTile tile_;
  int pieces_;
  std::vector<MatmulTiling> family_;
  std::unique_ptr<tune::PlainMatmul> code_;
};

// Time of the chosen tiling, and of the rule's, over that of the best of the family. 1 is the best. The best tiling is
// selected in even rounds and all times are taken from odd ones, so that the selection is not biased; a ratio below 1
// is noise.
struct Regret {
  MatmulTiling chosen, best;
  double of_choice, of_rule;
};
Regret MeasureRegret(const TiledMatmul& matmul, const gemm::MatmulShape& dim_sizes);

// Matmuls whose dim sizes are no multiples of a tile, and that were not used to fit the model.
std::vector<gemm::MatmulShape> HeldOutMatmuls();

}  // namespace tailor::bench

#endif  // TAILOR_BENCH_TILED_MATMUL_H_
