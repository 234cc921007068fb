// Runs GPU kernels on the host: `tailor.device.*` is defined in terms of fibers, one a thread, which a seeded
// scheduler runs in random order, some warps far ahead of others. So a kernel's logic (barriers, shuffles, shared
// memory) is tested on machines that have no GPU. What a GPU would leave undefined is found where it can be, and
// told: threads that do not meet, races, accesses beyond the end of shared or global memory, reads of what an
// asynchronous copy has not brought yet.
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
  int64_t blocks = 1;        // more than 0
  int threads = 32;          // of a block; a multiple of 32, at most 1024
  int64_t shared_bytes = 0;  // at most 227 KiB
  bool cooperative = false;  // all blocks are alive at once, with barriers of the grid; else they run one by one
};

// Addresses [begin, end).
struct SimtDimSize {
  uint64_t begin = 0, end = 0;
};
// The piece of memory that holds `address`, from its begin to its end; an empty one if there is none.
using FindMemory = std::function<SimtDimSize(uint64_t address)>;

// What a tensor map is here, in its 128 bytes: a tensor in global memory, its innermost dim first, and a box of it.
struct SimtTensorMap {
  static constexpr uint64_t kMagic = 0x70616d726f736e74;
  uint64_t magic = kMagic;
  uint64_t address = 0;
  uint64_t dim_sizes[5] = {};
  uint64_t strides[4] = {};  // bytes, of the dims but the innermost
  uint32_t box[5] = {};
  uint16_t rank = 0;
  uint8_t element_bytes = 0;
  uint8_t swizzle_bytes = 0;  // 0, 32, 64 or 128
};

// Where parameter `number` of `kernel` lies among the bytes of its parameters; behind the last: how many those are.
// A slot has 8 bytes; a tensor map its own, at a multiple of its alignment.
int64_t SimtParameterOffset(const llvm::Function& kernel, unsigned number);

// Bytes of global memory, each as often as it is accessed.
struct SimtTraffic {
  int64_t read = 0, written = 0;
};

struct SimtOptions {
  bool checks_accesses = true;     // for races and bounds
  FindMemory find_memory;          // what kernels may access besides shared memory; null: everything
  SimtTraffic* traffic = nullptr;  // to which launches that check accesses add what they have
};

// The kernels of one module. Each is compiled for the host when it is first launched.
// Threads: launches take turns, in all emulators of the process.
class SimtEmulator {
 public:
  // `bitcode` is LLVM bitcode of kernels in terms of the device intrinsics, not lowered; it is copied.
  explicit SimtEmulator(std::string_view bitcode, SimtOptions options = {});
  explicit SimtEmulator(const llvm::Module& module, SimtOptions options = {});
  ~SimtEmulator();

  bool HasKernel(const std::string& name) const;

  // Runs `kernel`, whose parameters lie at `slots` as SimtParameterOffset says. Empty when it ran to its end, else what
  // went wrong, with the kernel, the block and the threads. Then memory is in whatever state the kernel left it.
  std::string Launch(const std::string& kernel, const SimtGrid& grid, const int64_t* slots, uint32_t seed);

 private:
  class Code;
  std::unique_ptr<Code> code_;
};

}  // namespace tailor

#endif  // TAILOR_TESTS_EMULATOR_SIMT_EMULATOR_H_
