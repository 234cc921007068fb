// Runs GPU kernels on the host. `tailor.device.*` is implemented with fibers, one per thread, which a seeded scheduler
// runs in random order, some warps far ahead of others. So a kernel's logic (barriers, shuffles, shared memory) is
// tested without a GPU. Behaviour that is undefined on a GPU is reported where it can be detected: threads that miss a
// barrier, races, accesses out of bounds of shared or global memory, reads of bytes that an asynchronous copy has not
// delivered.
#ifndef TAILOR_TESTS_EMULATOR_SIMT_EMULATOR_H_
#define TAILOR_TESTS_EMULATOR_SIMT_EMULATOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "llvm/IR/Module.h"

namespace tailor {

struct SimtGrid {
  int64_t blocks = 1;        // > 0
  int threads = 32;          // per block; a multiple of 32, at most 1024
  int64_t shared_bytes = 0;  // at most 227 KiB
  bool cooperative = false;  // all blocks are resident, with grid barriers; else blocks run one by one
};

// Addresses [begin, end).
struct SimtMemoryRange {
  uint64_t begin = 0, end = 0;
};
// The allocation that contains `address`, from begin to end; empty if there is none.
using FindMemory = std::function<SimtMemoryRange(uint64_t address)>;

// The emulator's content of a 128-byte tensor map: a tensor in global memory, innermost dim first, and its box.
struct SimtTensorMap {
  static constexpr uint64_t kMagic = 0x70616d726f736e74;
  uint64_t magic = kMagic;
  uint64_t address = 0;
  uint64_t dim_sizes[5] = {};
  uint64_t strides[4] = {};  // bytes, of all dims but the innermost
  uint32_t box[5] = {};
  uint16_t rank = 0;
  uint8_t element_bytes = 0;
  uint8_t swizzle_bytes = 0;  // 0, 32, 64 or 128
};

// Byte offset of parameter `number` of `kernel`; past the last parameter: the total size. A slot has 8 bytes; a tensor
// map has its own size and alignment.
int64_t SimtParameterOffset(const llvm::Function& kernel, unsigned number);

// Bytes of global memory accessed, each counted as often as it is accessed.
struct SimtTraffic {
  int64_t read = 0, written = 0;
};

struct SimtOptions {
  bool checks_accesses = true;     // for races and bounds
  FindMemory find_memory;          // memory that kernels may access besides shared memory; null: all
  SimtTraffic* traffic = nullptr;  // launches that check accesses add their traffic to it
};

// The kernels of one module. Each is compiled for the host at its first launch. Threads: launches are serialised over
// all emulators of the process.
class SimtEmulator {
 public:
  // `bitcode`: LLVM bitcode of kernels in terms of the device intrinsics, not lowered; it is copied.
  explicit SimtEmulator(std::string_view bitcode, SimtOptions options = {});
  explicit SimtEmulator(const llvm::Module& module, SimtOptions options = {});
  ~SimtEmulator();

  bool HasKernel(const std::string& name) const;

  // Runs `kernel` with parameters at `slots` (SimtParameterOffset). Empty on success, else a diagnosis with the kernel,
  // the block and the threads; then memory is as the kernel left it.
  std::string Launch(const std::string& kernel, const SimtGrid& grid, const int64_t* slots, uint32_t seed);

 private:
  class Code;
  std::unique_ptr<Code> code_;
};

}  // namespace tailor

#endif  // TAILOR_TESTS_EMULATOR_SIMT_EMULATOR_H_
