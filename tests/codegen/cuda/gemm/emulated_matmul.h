// Matmul kernels of one form, run thread by thread on the host, against plain loops in double.
#ifndef TAILOR_TESTS_CODEGEN_CUDA_GEMM_EMULATED_MATMUL_H_
#define TAILOR_TESTS_CODEGEN_CUDA_GEMM_EMULATED_MATMUL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "codegen/cuda/schedule/cuda_schedule.h"
#include "tests/codegen/plan/matmul_case.h"
#include "tests/emulator/simt_emulator.h"

namespace tailor::cuda {

class EmulatedMatmul {
 public:
  // The versions that `target` has. `forgotten` names a device function without a value that kernels then do not call.
  EmulatedMatmul(const MatmulCaseForm& form, const std::string& target, const std::string& forgotten = "");

  int versions() const { return static_cast<int>(schedule_.versions.size()); }
  const CudaVersion& version(int number) const { return schedule_.versions[number]; }
  // Runs `version` on as many blocks as it asks for, at most `most_blocks`, of those that meet on at most as many as
  // kMultiprocessors hold; "" or what the emulator finds wrong. Whether or not its guards hold: each computes any
  // shape. `part` is the kernel's CudaVersion::parts, 0 the version's own.
  static constexpr int64_t kMultiprocessors = 3;
  std::string Run(const MatmulCaseSize& size, int version, uint32_t seed, const MatmulMemory& memory,
                  int64_t most_blocks = INT64_MAX, int64_t part = 0) const;

  MatmulMemory Memory(const MatmulCaseSize& size) const { return MatmulMemory(form_, size); }
  // Whether the version's guards let the host program take it.
  bool Takes(const MatmulCaseSize& size, int version) const;
  // Nothing where the version does not take the size.
  void ExpectRight(const MatmulCaseSize& size, int version, uint32_t seed) const {
    ExpectRight(size, version, seed, Memory(size));
  }
  void ExpectRight(const MatmulCaseSize& size, int version, uint32_t seed, const MatmulMemory& memory,
                   int64_t most_blocks = INT64_MAX, int64_t part = 0) const;
  // Every version at `count` random sizes, of `dim sizes` where they are not fixed.
  void ExpectRightAtRandomSizes(std::span<const int64_t> dim_sizes, int count) const;

 private:
  SimtMemoryRange FindMemory(uint64_t address) const;

  MatmulCaseForm form_;
  KernelPlan plan_;
  CudaSchedule schedule_;
  std::unique_ptr<SimtEmulator> emulator_;
  // Of the launch under way.
  struct GridSync {
    AlignedMemory scratch;
    uint32_t counter = 0;
  };
  mutable const MatmulMemory* memory_ = nullptr;
  mutable const GridSync* grid_sync_ = nullptr;
};

}  // namespace tailor::cuda

#endif  // TAILOR_TESTS_CODEGEN_CUDA_GEMM_EMULATED_MATMUL_H_
