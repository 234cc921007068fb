// The product that tuning compiles and times: out[m, n] = sum over k of lhs[m, k] * rhs[k, n] in f32, rhs in panels.
#ifndef TAILOR_TOOLS_TUNE_PLAIN_PRODUCT_H_
#define TAILOR_TOOLS_TUNE_PLAIN_PRODUCT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/contract/cost_profile.h"
#include "codegen/link/target_machine.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "exec/host_abi.h"
#include "exec/image.h"
#include "llvm/Support/MemoryBuffer.h"
#include "tailor/runtime.h"

namespace tailor::tune {

// What compilation knows of a product. Its rows are known to no compilation.
struct MatmulForm {
  std::optional<int64_t> n, k;
};

KernelPlan PlainProductPlan(const MatmulForm& form);

// The code of such a plan, whose entry is `name`_v0; where `tile` has cuts to choose among, it takes any of them.
// Throws std::runtime_error if it does not compile.
std::unique_ptr<llvm::MemoryBuffer> CompilePlainProduct(const KernelPlan& plan, const ContractionTile& tile,
                                                        const CpuTarget& target, const std::string& name);

// One launch of a product, its operands bound: a call runs all tasks on the calling thread. The product and the
// operands outlive it.
struct BoundProduct {
  KernelFn kernel;
  std::vector<int64_t> args;
  int64_t tasks;

  void operator()() const { kernel(args.data(), 0, tasks, 0); }
};

// A product's code for this machine. Immutable; any number of threads.
class PlainProduct {
 public:
  // With the compiler's schedule, or with `tile` in its place. Throws std::runtime_error if the code does not compile.
  static std::unique_ptr<PlainProduct> Compile(const MatmulForm& form, const std::optional<ContractionTile>& tile = {});

  const ContractionTile& tile() const { return tile_; }
  // Extents are those of the form where it has them; `panels` is 64-byte aligned. A tile with cuts needs one.
  BoundProduct Bind(int64_t m, int64_t n, int64_t k, const float* lhs, const float* panels, float* out,
                    const ProductCut* cut = nullptr) const;

 private:
  explicit PlainProduct(const MatmulForm& form) : plan_(PlainProductPlan(form)) {}

  KernelPlan plan_;
  ContractionTile tile_;
  MappedImage image_;
  KernelFn kernel_ = nullptr;
};

// What the compiler has for this machine.
const CostProfile& HostCosts();

// Operands of one size, filled with numbers, and room for the result.
class PlainOperands {
 public:
  PlainOperands(int64_t m, int64_t n, int64_t k);
  BoundProduct Bind(const PlainProduct& product, const ProductCut* cut = nullptr) {
    return product.Bind(m_, n_, k_, lhs_.data(), panels_, out_.data(), cut);
  }
  // As a product with a constant right operand, on one thread.
  tailor_product Offered();
  // Whether the last launch left the product, exactly: elements are small whole numbers.
  bool IsRight() const;

 private:
  int64_t m_, n_, k_;
  std::vector<float> lhs_, storage_, out_;
  float* panels_;
};

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_PLAIN_PRODUCT_H_
