// Products in f32 under any cut, for measuring how good the choice between cuts is (codegen/cpu/tiling/cut_model.h).
// They reach below the C API: a cut is not the caller's to set.
#ifndef TAILOR_BENCH_PRODUCT_CANDIDATE_H_
#define TAILOR_BENCH_PRODUCT_CANDIDATE_H_

#include <memory>
#include <vector>

#include "codegen/cpu/tiling/cut_model.h"
#include "tools/tune/plain_product.h"

namespace tailor::bench {

// A right operand of `k` x `n` f32 in code for this machine, and cuts of a product with it.
class CutProduct {
 public:
  explicit CutProduct(const tune::MatmulForm& form);

  const ContractionTile& tile() const { return tile_; }
  // Takes any of the family, the rule's cut, and others into tiles that all fit the registers.
  const tune::PlainProduct& code() const { return *code_; }
  // What a launch of the compiler's own code would choose.
  ProductCut Chosen(const gemm::ProductExtents& extents) const;
  ProductCut Rule(int64_t m) const { return gemm::RuleCut(tile_, pieces_, m); }
  // Every cut that one thread could tell apart, whether or not the compiler keeps it for this product.
  const std::vector<ProductCut>& family() const { return family_; }

 private:
  ContractionTile tile_;
  int pieces_;
  std::vector<ProductCut> family_;
  std::unique_ptr<tune::PlainProduct> code_;
};

// How much longer the chosen cut and the rule's take than the best of the family, which is found in even rounds and
// measured in odd ones: what is left of noise may put that below 1.
struct Regret {
  ProductCut chosen, best;
  double of_choice, of_rule;
};
Regret MeasureRegret(const CutProduct& product, const gemm::ProductExtents& extents);

// Products whose extents are no multiples of a tile, and from no measurement that the model was made by.
std::vector<gemm::ProductExtents> HeldOutProducts();

}  // namespace tailor::bench

#endif  // TAILOR_BENCH_PRODUCT_CANDIDATE_H_
