// Matmuls in f32 under any tiling, for measuring how good the choice of a tiling is
// (codegen/cpu/tiling/tiling_model.h). They reach below the C API, which cannot set a tiling.
#ifndef TAILOR_BENCH_MATMUL_CANDIDATE_H_
#define TAILOR_BENCH_MATMUL_CANDIDATE_H_

#include <memory>
#include <vector>

#include "codegen/cpu/tiling/tiling_model.h"
#include "tools/tune/plain_matmul.h"

namespace tailor::bench {

// A matmul with an rhs of `k` x `n` f32, compiled for this machine, and tilings of it.
class TiledMatmul {
 public:
  explicit TiledMatmul(const tune::MatmulForm& form);

  const ContractionTile& tile() const { return tile_; }
  // Takes any tiling of the family, the rule's, and any other whose tiles all fit the registers.
  const tune::PlainMatmul& code() const { return *code_; }
  // The tiling that a launch of the compiler's own code would choose.
  MatmulTiling Chosen(const gemm::MatmulShape& dim_sizes) const;
  MatmulTiling Rule(int64_t m) const { return gemm::RuleTiling(tile_, pieces_, m); }
  // Every tiling that differs on one thread, whether or not the compiler keeps it for this matmul.
  const std::vector<MatmulTiling>& family() const { return family_; }

 private:
  ContractionTile tile_;
  int pieces_;
  std::vector<MatmulTiling> family_;
  std::unique_ptr<tune::PlainMatmul> code_;
};

// Time of the chosen tiling, and of the rule's, over that of the best of the family. The best is found in even rounds
// and measured in odd ones, so that noise may put a ratio below 1.
struct Regret {
  MatmulTiling chosen, best;
  double of_choice, of_rule;
};
Regret MeasureRegret(const TiledMatmul& matmul, const gemm::MatmulShape& dim_sizes);

// Matmuls whose dim sizes are no multiples of a tile, and that were not used to fit the model.
std::vector<gemm::MatmulShape> HeldOutMatmuls();

}  // namespace tailor::bench

#endif  // TAILOR_BENCH_MATMUL_CANDIDATE_H_
