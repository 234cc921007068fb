// Matmuls for tests: the code of one for a CPU level.
#ifndef TAILOR_TESTS_CODEGEN_CPU_GEMM_GEMM_CASE_H_
#define TAILOR_TESTS_CODEGEN_CPU_GEMM_GEMM_CASE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/link/target_machine.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/schedule.h"
#include "exec/host_abi.h"
#include "tests/codegen/link/ir_image.h"
#include "tests/codegen/plan/matmul_case.h"

namespace tailor::gemm {

// Levels that this machine runs, as FindCpuTarget names them.
std::vector<CpuTarget> RunnableTargets();

class Matmul {
 public:
  Matmul(const MatmulCaseForm& form, const CpuTarget& target);
  // With `tilings` to choose among instead of those of its schedule; none: the rule alone.
  Matmul(const MatmulCaseForm& form, const CpuTarget& target, std::vector<MatmulTiling> tilings);

  // Runs choose the cut as one thread does, unless another is set, which is one of the schedule's.
  void SetTiling(const MatmulTiling& tiling) { tiling_ = tiling; }
  // Runs are interrupted after that many polls.
  void SetPolls(int polls) { polls_ = polls; }
  // Runs take that version of the schedule; the last one unless another is set.
  void SetVersion(size_t version) { version_ = version; }
  // CostProfile::ahead of the machine that it is to think it runs on.
  void SetAhead(float ahead) { ahead_ = ahead; }
  // The number of workers that tasks are made for.
  void SetWorkers(int64_t workers) { workers_ = workers; }
  int64_t Tasks(const MatmulCaseSize& size) const;
  // Runs the task ranges [starts[i], starts[i + 1]) in order and returns the output's bytes. Fails the test
  // if anything beyond the output was written.
  std::vector<char> Run(const MatmulCaseSize& size, const std::vector<int64_t>& starts) const;
  std::vector<char> Run(const MatmulCaseSize& size) const { return Run(size, {0, Tasks(size)}); }
  // EXPECTs that `out` is the product of the operands which Run used.
  void ExpectRight(const MatmulCaseSize& size, const std::vector<char>& out) const { ExpectMatmul(form_, size, out); }
  const Schedule& schedule() const { return schedule_; }

 private:
  Matmul(const MatmulCaseForm& form, const CpuTarget& target, const std::vector<MatmulTiling>* tilings);
  MatmulTiling TilingOf(const MatmulCaseSize& size) const;

  MatmulCaseForm form_;
  const CpuTarget target_;
  std::optional<MatmulTiling> tiling_;
  std::optional<int> polls_;
  size_t version_ = 0;
  int64_t workers_ = 1;
  float ahead_ = CostProfile().prefetch_distance;
  KernelPlan plan_;
  Schedule schedule_;
  std::unique_ptr<CodeImage> image_;
};

}  // namespace tailor::gemm

#endif  // TAILOR_TESTS_CODEGEN_CPU_GEMM_GEMM_CASE_H_
