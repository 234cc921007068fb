// Products for tests: a KernelPlan from a short description, its code for one CPU level, and a naive double
// reference, over the same random operands.
#ifndef TAILOR_TESTS_CODEGEN_GEMM_PRODUCT_H_
#define TAILOR_TESTS_CODEGEN_GEMM_PRODUCT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/kernel_plan.h"
#include "codegen/schedule.h"
#include "codegen/target_machine.h"
#include "exec/host_abi.h"
#include "tests/codegen/ir_image.h"

namespace tailor {

inline constexpr int64_t kDynamic = -1;

// out[batch..., m, n] = epilogue(sum over k of lhs[batch..., m, k] * rhs[batch..., k, n])
struct ProductForm {
  DType dtype = DType::kF32;
  std::vector<int64_t> batch;       // extents or kDynamic
  std::vector<bool> rhs_has_batch;  // per batch axis; absent: rhs is the same for all its values
  int64_t m = kDynamic, n = kDynamic, k = kDynamic;
  bool transpose_lhs = false;  // stored [batch..., k, m]
  bool heads = false;          // lhs and out are stored [batch[0], m, batch[1], ...]
  bool transpose_out = false;  // stored [batch..., n, m]
  bool epilogue = false;       // y * sigmoid(y) + residual[batch..., m, n], y = sum + bias[n]
};

struct ProductSize {
  std::vector<int64_t> batch;
  int64_t m, n, k;
};

KernelPlan MakeProductPlan(const ProductForm& form);

// Levels that this machine runs, as FindCpuTarget names them.
std::vector<CpuTarget> RunnableTargets();

class Product {
 public:
  Product(const ProductForm& form, const CpuTarget& target);
  // With `cuts` to choose among instead of those of its schedule; none: the rule alone.
  Product(const ProductForm& form, const CpuTarget& target, std::vector<ProductCut> cuts);

  // Runs choose the cut as one thread does, unless another is set, which is one of the schedule's.
  void SetCut(const ProductCut& cut) { cut_ = cut; }
  int64_t Tasks(const ProductSize& size) const;
  // Runs the task ranges [starts[i], starts[i + 1]) in order and returns the output's bytes. Fails the test
  // if anything beyond the output was written.
  std::vector<char> Run(const ProductSize& size, const std::vector<int64_t>& starts) const;
  std::vector<char> Run(const ProductSize& size) const { return Run(size, {0, Tasks(size)}); }
  // EXPECTs that `out` is the product of the operands which Run used.
  void ExpectRight(const ProductSize& size, const std::vector<char>& out) const;
  const Schedule& schedule() const { return schedule_; }

 private:
  Product(const ProductForm& form, const CpuTarget& target, const std::vector<ProductCut>* cuts);
  std::vector<int64_t> Slots(const ProductSize& size) const;
  ProductCut CutOf(const ProductSize& size) const;

  ProductForm form_;
  const CpuTarget target_;
  std::optional<ProductCut> cut_;
  KernelPlan plan_;
  Schedule schedule_;
  std::unique_ptr<MappedImage> image_;
};

}  // namespace tailor

#endif  // TAILOR_TESTS_CODEGEN_GEMM_PRODUCT_H_
