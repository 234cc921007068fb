#include <cstring>

#include "tests/emulator/device_functions.h"
#include "tests/emulator/launch.h"
#include "tests/emulator/multiplicands.h"

namespace tailor::simt {
namespace {

constexpr int kLanes = kMostLanes;
constexpr int kRows = 64;
constexpr size_t kKeptGemms = 256;

// Handles: NaNs with 15 bits of a gemm's id and 7 of a register.
constexpr uint32_t kHandle = 0xffc00000;
constexpr uint32_t kMostIds = 1 << 15;
uint32_t HandleOf(uint32_t id, int reg) { return kHandle | id << 7 | reg; }
bool IsHandle(uint32_t bits) { return (bits & kHandle) == kHandle && (bits >> 7 & (kMostIds - 1)) != 0; }

Warpgroup& RunningWarpgroup() { return RunningThread().block->warpgroups[RunningThread().id / kLanes]; }
bool IsFirst() { return RunningThread().id % kLanes == 0; }

// Null if it is no longer kept.
const WarpgroupGemm* FindGemm(uint32_t handle) {
  const uint32_t id = handle >> 7 & (kMostIds - 1);
  for (const WarpgroupGemm& gemm : RunningWarpgroup().gemms) {
    if (gemm.id == id) return &gemm;
  }
  return nullptr;
}

// The value of a register: the result of its finished gemm if the bits are a handle, else the bits.
uint32_t ValueOf(uint32_t bits, int lane, int registers) {
  if (!IsHandle(bits)) return bits;
  const WarpgroupGemm* gemm = FindGemm(bits);
  if (gemm == nullptr || !gemm->done) Fail(NameOf(RunningThread()) + ": uses the result of a wgmma that is under way");
  return gemm->registers[lane * registers + (bits & 0x7f)];
}

// A matrix descriptor (PTX ISA, "Matrix Descriptor Format"); fields in bytes of shared memory.
struct Descriptor {
  explicit Descriptor(uint64_t bits)
      : start((bits & 0x3fff) << 4),
        leading((bits >> 16 & 0x3fff) << 4),
        stride((bits >> 32 & 0x3fff) << 4),
        pitch(bits >> 62 == 0 ? 16 : 256 >> (bits >> 62)) {}
  uint64_t start, leading, stride;
  uint64_t pitch;  // between the 8 rows of an atom: 16 without swizzle, else 128, 64 or 32

  // Offset of 8 contiguous elements: chunk `chunk` along the contiguous dim, `row` along the other.
  uint64_t Offset(int row, int chunk, bool contiguous_is_depth) const {
    const int chunks = static_cast<int>(pitch / 16);
    const uint64_t inside = row % 8 * pitch + chunk % chunks * 16;
    if (contiguous_is_depth) return row / 8 * stride + inside + chunk / chunks * leading;
    return pitch == 16 ? row / 8 * leading + chunk * stride + inside
                       : row / 8 * stride + chunk / chunks * leading + inside;
  }
};

// 8 elements of 16 bits. Descriptors address a window of 2^18 bytes of shared memory.
const std::byte* ReadChunk(const Descriptor& descriptor, uint64_t offset) {
  const Block& block = *RunningThread().block;
  const auto base = reinterpret_cast<uint64_t>(block.shared);
  uint64_t address = base + ((descriptor.start - base) & 0x3ffff) + offset;
  address ^= (address >> 7 & (descriptor.pitch / 16 - 1)) << 4;
  const auto* chunk = reinterpret_cast<const std::byte*>(address);
  if (RunningChecker() != nullptr) RunningChecker()->SharedByProxy(chunk, 16);
  return chunk;
}

// [rows][Type::kDepth] of `descriptor`; its contiguous dim is the depth or the rows.
template <class Type>
std::vector<float> ReadMatrix(uint64_t bits, int rows, bool contiguous_is_depth) {
  constexpr int kDepth = Type::kDepth;
  const Descriptor descriptor(bits);
  std::vector<float> matrix(rows * kDepth);
  const int lines = contiguous_is_depth ? rows : kDepth, chunks = (contiguous_is_depth ? kDepth : rows) / 8;
  for (int line = 0; line < lines; ++line) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
      uint16_t elements[8];
      std::memcpy(elements, ReadChunk(descriptor, descriptor.Offset(line, chunk, contiguous_is_depth)), 16);
      for (int i = 0; i < 8; ++i) {
        const int along = 8 * chunk + i;
        matrix[contiguous_is_depth ? line * kDepth + along : along * kDepth + line] = Type::At(elements[i], 0);
      }
    }
  }
  return matrix;
}

template <class Type, int columns, bool transposed_b>
void RunGemm(WarpgroupGemm& gemm) {
  if (!gemm.uniform) Fail(NameOf(RunningThread()) + ": a wgmma whose lanes have different descriptors");
  constexpr int kRegisters = columns / 2, kDepth = Type::kDepth;
  const std::vector<float> a = ReadMatrix<Type>(gemm.a, kRows, true);
  const std::vector<float> b = ReadMatrix<Type>(gemm.b, columns, !transposed_b);
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < kRegisters; ++i) {
      uint32_t& reg = gemm.registers[lane * kRegisters + i];
      const int row = lane / kWarp * 16 + lane % kWarp / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      double sum = std::bit_cast<float>(ValueOf(reg, lane, kRegisters));
      for (int k = 0; k < kDepth; ++k) sum += double{a[row * kDepth + k]} * b[column * kDepth + k];
      reg = std::bit_cast<uint32_t>(static_cast<float>(sum));
    }
  }
  gemm.done = true;
}

template <class Type, int columns, bool transposed_b>
void StartGemm(uint64_t* const* lanes) {
  constexpr int kRegisters = columns / 2;
  Warpgroup& warpgroup = RunningWarpgroup();
  WarpgroupGemm gemm = {.id = warpgroup.started++ % (kMostIds - 1) + 1, .group = warpgroup.groups};
  gemm.a = lanes[0][kRegisters];
  gemm.b = lanes[0][kRegisters + 1];
  gemm.run = RunGemm<Type, columns, transposed_b>;
  for (int lane = 0; lane < kLanes; ++lane) {
    gemm.uniform &= lanes[lane][kRegisters] == gemm.a && lanes[lane][kRegisters + 1] == gemm.b;
    for (int i = 0; i < kRegisters; ++i) {
      gemm.registers.push_back(static_cast<uint32_t>(lanes[lane][i]));
      lanes[lane][i] = HandleOf(gemm.id, i);
    }
  }
  warpgroup.gemms.push_back(std::move(gemm));
  if (warpgroup.gemms.size() > kKeptGemms) warpgroup.gemms.pop_front();
}

template <class Type, int columns, bool transposed_b>
void Multiply(uint64_t* slots) {
  static constexpr WarpOp kStart = {"wgmma", StartGemm<Type, columns, transposed_b>, false, kLanes};
  for (int i = 0; i < columns / 2; ++i) {
    if (RunningThread().wgmma_fenced || IsHandle(static_cast<uint32_t>(slots[i]))) continue;
    Fail(NameOf(RunningThread()) + ": a wgmma of registers that were written since the last fence");
  }
  SyncWarp(kStart, slots, __builtin_return_address(0));
}

void FenceRegisters(uint64_t*) { RunningThread().wgmma_fenced = true; }

// The warpgroup's first thread acts for it.
void Commit(uint64_t*) {
  if (IsFirst()) ++RunningWarpgroup().groups;
}

void WaitForGemms(uint64_t* slots) {
  static constexpr WarpOp kWait = {"wgmma_wait", [](uint64_t* const*) {}, false, kLanes};
  Warpgroup& warpgroup = RunningWarpgroup();
  if (IsFirst()) {
    for (WarpgroupGemm& gemm : warpgroup.gemms) {
      if (!gemm.done && gemm.group < warpgroup.groups - static_cast<uint32_t>(slots[0])) gemm.run(gemm);
    }
  }
  SyncWarp(kWait, slots, __builtin_return_address(0));
}

template <int columns>
void TakeResults(uint64_t* slots) {
  RunningThread().wgmma_fenced = false;
  for (int i = 0; i < columns / 2; ++i) {
    slots[i] = ValueOf(static_cast<uint32_t>(slots[i]), RunningThread().id % kLanes, columns / 2);
  }
}

}  // namespace

std::span<const NamedDeviceFunction> WarpgroupFunctions() {
  static constexpr NamedDeviceFunction kFunctions[] = {
      {"wgmma_fence", FenceRegisters},
      {"wgmma_commit", Commit},
      {"wgmma_wait", WaitForGemms},
      {"wgmma_results_32", TakeResults<32>},
      {"wgmma_results_64", TakeResults<64>},
      {"wgmma_results_128", TakeResults<128>},
      {"wgmma_results_256", TakeResults<256>},
      {"wgmma_m64n32k16_bf16_tb", Multiply<Bf16, 32, true>},
      {"wgmma_m64n32k16_f16_tb", Multiply<F16, 32, true>},
      {"wgmma_m64n64k16_bf16", Multiply<Bf16, 64, false>},
      {"wgmma_m64n64k16_bf16_tb", Multiply<Bf16, 64, true>},
      {"wgmma_m64n64k16_f16", Multiply<F16, 64, false>},
      {"wgmma_m64n64k16_f16_tb", Multiply<F16, 64, true>},
      {"wgmma_m64n128k16_bf16", Multiply<Bf16, 128, false>},
      {"wgmma_m64n128k16_bf16_tb", Multiply<Bf16, 128, true>},
      {"wgmma_m64n128k16_f16", Multiply<F16, 128, false>},
      {"wgmma_m64n128k16_f16_tb", Multiply<F16, 128, true>},
      {"wgmma_m64n256k16_bf16", Multiply<Bf16, 256, false>},
      {"wgmma_m64n256k16_bf16_tb", Multiply<Bf16, 256, true>},
      {"wgmma_m64n256k16_f16", Multiply<F16, 256, false>},
      {"wgmma_m64n256k16_f16_tb", Multiply<F16, 256, true>},
  };
  return kFunctions;
}

}  // namespace tailor::simt
