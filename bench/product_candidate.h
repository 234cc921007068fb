// Products in f32 under any cut, for measuring how good the choice between cuts is (codegen/gemm/cut_model.h). They
// reach below the C API: a cut is not the caller's to set.
#ifndef TAILOR_BENCH_PRODUCT_CANDIDATE_H_
#define TAILOR_BENCH_PRODUCT_CANDIDATE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/gemm/cut_model.h"
#include "codegen/target_machine.h"
#include "exec/host_abi.h"
#include "tests/codegen/gemm_product.h"

namespace tailor {

// A right operand of `k` x `n` f32, or of any extents, in code for `target`, and cuts of a product with it.
class CutProduct {
 public:
  CutProduct(const ProductForm& form, const CpuTarget& target);

  const ContractionTile& tile() const { return schedule_.tile; }
  int pieces() const { return pieces_; }
  // What a launch of the compiler's own code would choose.
  ProductCut Chosen(const ProductExtents& extents) const;
  ProductCut Rule(int64_t m) const { return RuleCut(schedule_.tile, pieces_, m); }
  // Every cut that one thread could tell apart, whether or not the compiler keeps it for this product.
  const std::vector<ProductCut>& family() const { return family_; }

  // Computes it all with any of those, or a cut into tiles that all fit the registers.
  void Run(const ProductCut& cut, const ProductExtents& extents, const float* lhs, const float* panels,
           float* out) const;

 private:
  KernelPlan plan_;
  Schedule schedule_;
  int pieces_;
  const CostProfile& costs_;
  std::vector<ProductCut> family_;
  std::unique_ptr<MappedImage> image_;
  KernelFn kernel_;
};

// Rows, panels and room for the result of a product of at most these extents.
class ProductOperands {
 public:
  explicit ProductOperands(const ProductExtents& extents);
  void Run(const CutProduct& product, const ProductCut& cut, const ProductExtents& extents);

 private:
  std::vector<float> lhs_, storage_, out_;
  float* panels_;
};

// The least time of each cut in nanoseconds of this thread, apart for even and odd rounds. In each round the cuts take
// turns in another order: so whatever else the machine does, and whichever cut ran before, each has moments to itself.
struct CutTimes {
  std::vector<double> even, odd;
};
CutTimes MeasureCuts(const CutProduct& product, const std::vector<ProductCut>& cuts, const ProductExtents& extents,
                     int rounds);

// How much longer the chosen cut and the rule's take than the best of the family, which is found in even rounds and
// measured in odd ones: what is left of noise may put that below 1.
struct Regret {
  ProductCut chosen, best;
  double of_choice, of_rule;
};
Regret MeasureRegret(const CutProduct& product, const ProductExtents& extents);

// Products whose extents are no multiples of a tile, and from no measurement that the model was made by.
std::vector<ProductExtents> HeldOutProducts();

}  // namespace tailor

#endif  // TAILOR_BENCH_PRODUCT_CANDIDATE_H_
