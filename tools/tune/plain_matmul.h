// The matmul that tuning compiles and times: out[m, n] = sum over k of lhs[m, k] * rhs[k, n] in f32, rhs in panels.
#ifndef TAILOR_TOOLS_TUNE_PLAIN_MATMUL_H_
#define TAILOR_TOOLS_TUNE_PLAIN_MATMUL_H_

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

// The dim sizes that are constants of the compiled code. Unset ones, and m, are arguments of a call.
struct MatmulForm {
  std::optional<int64_t> n, k;
};

KernelPlan PlainMatmulPlan(const MatmulForm& form);

// The object code of such a plan, with the entry `name`_v0. If tile.tilings is not empty, the tiling is an argument.
// Throws std::runtime_error if it does not compile.
std::unique_ptr<llvm::MemoryBuffer> CompilePlainMatmul(const KernelPlan& plan, const ContractionTile& tile,
                                                       const CpuTarget& target, const std::string& name);

// One launch of a matmul, its operands bound: a call runs all tasks on the calling thread. The matmul and the
// operands outlive it.
struct BoundMatmul {
  KernelFn kernel;
  std::vector<int64_t> args;
  int64_t tasks;

  void operator()() const { kernel(args.data(), 0, tasks, 0); }
};

// A matmul's code for this machine. Immutable; any number of threads.
class PlainMatmul {
 public:
  // With the compiler's schedule, or with `tile` in its place. Throws std::runtime_error if the code does not compile.
  static std::unique_ptr<PlainMatmul> Compile(const MatmulForm& form, const std::optional<ContractionTile>& tile = {});

  const ContractionTile& tile() const { return tile_; }
  // `n` and `k` equal those of the form, if it has them; `panels` is 64-byte aligned. `tiling` is required if
  // tile().tilings is not empty.
  BoundMatmul Bind(int64_t m, int64_t n, int64_t k, const float* lhs, const float* panels, float* out,
                   const MatmulTiling* tiling = nullptr) const;

 private:
  explicit PlainMatmul(const MatmulForm& form) : plan_(PlainMatmulPlan(form)) {}

  KernelPlan plan_;
  ContractionTile tile_;
  MappedImage image_;
  KernelFn kernel_ = nullptr;
};

// The cost profile that the compiler has for this machine.
const CostProfile& HostCosts();

// Operands of one size, filled with numbers, and room for the result.
class PlainOperands {
 public:
  PlainOperands(int64_t m, int64_t n, int64_t k);
  BoundMatmul Bind(const PlainMatmul& matmul, const MatmulTiling* tiling = nullptr) {
    return matmul.Bind(m_, n_, k_, lhs_.data(), panels_, out_.data(), tiling);
  }
  // The matmul as it is offered to a matmul provider: constant rhs, one thread.
  tailor_product Offered();
  // Whether the output of the last launch is exact: elements are small integers.
  bool IsRight() const;

 private:
  int64_t m_, n_, k_;
  std::vector<float> lhs_, storage_, out_;
  float* panels_;
};

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_PLAIN_MATMUL_H_
