// Runs GPU kernels on the host: `tailor.device.*` is defined in terms of fibers, one a thread, which a seeded
// scheduler runs in random order, some warps far ahead of others. So a kernel's logic (barriers, shuffles, shared
// memory) is tested on machines that have no GPU.
#ifndef TAILOR_TESTS_CODEGEN_SIMT_EMULATOR_H_
#define TAILOR_TESTS_CODEGEN_SIMT_EMULATOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/Module.h"

namespace tailor {

class SimtEmulator {
 public:
  // `module` holds kernels in terms of the device intrinsics, not lowered.
  SimtEmulator(std::unique_ptr<llvm::Module> module, std::unique_ptr<llvm::LLVMContext> context);

  struct Grid {
    int64_t blocks;
    int threads;  // a multiple of 32
    int64_t shared_bytes;
  };
  // Runs `kernel` with one 8-byte parameter per slot, block after block. False if the threads of a block
  // did not meet: some waited where others had returned, or at different places.
  bool Launch(const std::string& kernel, const Grid& grid, const std::vector<int64_t>& slots, uint32_t seed);

 private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

}  // namespace tailor

#endif  // TAILOR_TESTS_CODEGEN_SIMT_EMULATOR_H_
