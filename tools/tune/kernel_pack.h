// A kernel pack: machine code of micro-kernels, so that a machine without a compiler can measure their cost. The file
// is text lines, followed by the code:
//
//   tailor-kernels 1
//   target x86-64-v4
//   features avx512f avx512vl
//   tile 6x4 192                  rows x panels, offset of its function in the code
//   code 40960 1b2f...            bytes, and a checksum of them in hexadecimal
//
// The checksum detects damage, not malice: run only packs that you trust, as with artifacts.
#ifndef TAILOR_TOOLS_TUNE_KERNEL_PACK_H_
#define TAILOR_TOOLS_TUNE_KERNEL_PACK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tailor::tune {

// Each function of a pack computes a matmul of kPackedTiles x kPackedTiles tiles, whose operands are in L2.
inline constexpr int64_t kPackedTiles = 4;

// The function is a KernelFn of kPackedTiles tasks. Its arguments are the addresses of the operands and of the result,
// kPackedTiles * rows, K, and the address of an RtContext; the rhs has kPackedTiles * panels panels.
struct PackedKernel {
  int rows, panels;
  uint64_t offset;
};

struct KernelPack {
  std::string target;                 // "x86-64-v4"
  std::vector<std::string> features;  // that the code needs, by LLVM's names
  std::vector<PackedKernel> kernels;
  std::vector<std::byte> code;  // relocatable by plain copying
};

std::string KernelPackBytes(const KernelPack& pack);
// Throws std::runtime_error if `bytes` is truncated, damaged or no kernel pack.
KernelPack ParseKernelPack(const std::string& bytes);

}  // namespace tailor::tune

#endif  // TAILOR_TOOLS_TUNE_KERNEL_PACK_H_
