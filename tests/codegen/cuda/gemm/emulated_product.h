// Product kernels of one form, run thread by thread on the host, against plain loops in double.
#ifndef TAILOR_TESTS_CODEGEN_CUDA_GEMM_EMULATED_PRODUCT_H_
#define TAILOR_TESTS_CODEGEN_CUDA_GEMM_EMULATED_PRODUCT_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "codegen/cuda/schedule/cuda_schedule.h"
#include "tests/codegen/plan/product_case.h"
#include "tests/emulator/simt_emulator.h"

namespace tailor::cuda {

class EmulatedProduct {
 public:
  // The versions that `target` has. `forgotten` names a device function without a value that kernels then do not call.
  EmulatedProduct(const ProductForm& form, const std::string& target, const std::string& forgotten = "");

  int versions() const { return static_cast<int>(schedule_.versions.size()); }
  const CudaVersion& version(int number) const { return schedule_.versions[number]; }
  // Runs `version` on as many blocks as it asks for, at most `most_blocks`, of those that meet on at most as many as
  // kMultiprocessors hold; "" or what the emulator finds wrong. Whether or not its guards hold: each computes any
  // shape. `part` is the kernel's CudaVersion::parts, 0 the version's own.
  static constexpr int64_t kMultiprocessors = 3;
  std::string Run(const ProductSize& size, int version, uint32_t seed, const ProductMemory& memory,
                  int64_t most_blocks = INT64_MAX, int64_t part = 0) const;

  ProductMemory Memory(const ProductSize& size) const { return ProductMemory(form_, size); }
  // Whether the version's guards let the host program take it.
  bool Takes(const ProductSize& size, int version) const;
  // Nothing where the version does not take the size.
  void ExpectRight(const ProductSize& size, int version, uint32_t seed) const {
    ExpectRight(size, version, seed, Memory(size));
  }
  void ExpectRight(const ProductSize& size, int version, uint32_t seed, const ProductMemory& memory,
                   int64_t most_blocks = INT64_MAX, int64_t part = 0) const;
  // Every version at `count` random sizes, of `extents` where they are not fixed.
  void ExpectRightAtRandomSizes(std::span<const int64_t> extents, int count) const;

 private:
  SimtExtent FindMemory(uint64_t address) const;

  ProductForm form_;
  KernelPlan plan_;
  CudaSchedule schedule_;
  std::unique_ptr<SimtEmulator> emulator_;
  // Of the launch under way.
  struct Meeting {
    AlignedMemory scratch;
    uint32_t counter = 0;
  };
  mutable const ProductMemory* memory_ = nullptr;
  mutable const Meeting* meeting_ = nullptr;
};

}  // namespace tailor::cuda

#endif  // TAILOR_TESTS_CODEGEN_CUDA_GEMM_EMULATED_PRODUCT_H_
