// Matmuls in f32 under any cut, for measuring how good the choice between cuts is (codegen/cpu/tiling/tiling_model.h).
// They reach below the C API: a cut is not the caller's to set.
#ifndef TAILOR_BENCH_MATMUL_CANDIDATE_H_
#define TAILOR_BENCH_MATMUL_CANDIDATE_H_

#include <memory>
#include <vector>

#include "codegen/cpu/tiling/tiling_model.h"
#include "tools/tune/plain_matmul.h"

namespace tailor::bench {

// A right operand of `k` x `n` f32 in code for this machine, and cuts of a matmul with it.
class TiledMatmul {
 public:
  explicit TiledMatmul(const tune::MatmulForm& form);

  const ContractionTile& tile() const { return tile_; }
  // Takes any of the family, the rule's cut, and others into tiles that all fit the registers.
  const tune::PlainMatmul& code() const { return *code_; }
  // What a launch of the compiler's own code would choose.
  MatmulTiling Chosen(const gemm::MatmulShape& dim_sizes) const;
  MatmulTiling Rule(int64_t m) const { return gemm::RuleTiling(tile_, pieces_, m); }
  // Every cut that one thread could tell apart, whether or not the compiler keeps it for this matmul.
  const std::vector<MatmulTiling>& family() const { return family_; }

 private:
  ContractionTile tile_;
  int pieces_;
  std::vector<MatmulTiling> family_;
  std::unique_ptr<tune::PlainMatmul> code_;
};

// How much longer the chosen cut and the rule's take than the best of the family, which is found in even rounds and
// measured in odd ones: what is left of noise may put that below 1.
struct Regret {
  MatmulTiling chosen, best;
  double of_choice, of_rule;
};
Regret MeasureRegret(const TiledMatmul& matmul, const gemm::MatmulShape& dim_sizes);

// Matmuls whose dim sizes are no multiples of a tile, and from no measurement that the model was made by.
std::vector<gemm::MatmulShape> HeldOutMatmuls();

}  // namespace tailor::bench

#endif  // TAILOR_BENCH_MATMUL_CANDIDATE_H_
