// ldmatrix and mma.sync, in the layouts of device_op_table.h, and conversions of their operands.
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "tests/emulator/device_functions.h"
#include "tests/emulator/launch.h"
#include "tests/emulator/multiplicands.h"

namespace tailor::simt {
namespace {

// slots[0]: address of a row; lanes 8m to 8m + 7 have the rows of matrix m.
template <int matrices, bool transposed>
void LoadMatrices(uint64_t* const* lanes) {
  uint16_t elements[matrices][8][8];
  for (int row = 0; row < 8 * matrices; ++row) {
    std::memcpy(elements[row / 8][row % 8], reinterpret_cast<const void*>(lanes[row][0]), sizeof(elements[0][0]));
  }
  for (int lane = 0; lane < kWarp; ++lane) {
    for (int m = 0; m < matrices; ++m) {
      const int i = lane / 4, j = lane % 4 * 2;
      const uint32_t low = transposed ? elements[m][j][i] : elements[m][i][j];
      const uint32_t high = transposed ? elements[m][j + 1][i] : elements[m][i][j + 1];
      lanes[lane][m] = low | high << 16;
    }
  }
}

template <int matrices, bool transposed>
void Ldmatrix(uint64_t* slots) {
  static constexpr WarpOp kLoad = {"ldmatrix", LoadMatrices<matrices, transposed>};
  const Thread& thread = RunningThread();
  if (thread.id % kWarp < 8 * matrices) {
    if (slots[0] % 16 != 0) Fail(NameOf(thread) + ": ldmatrix of a row at an address that is not a multiple of 16");
    if (AccessChecker* checker = RunningChecker()) {
      checker->Shared(reinterpret_cast<const void*>(slots[0]), 16, AccessChecker::Kind::kRead);
    }
  }
  SyncWarp(kLoad, slots, __builtin_return_address(0));
}

// Products and sums in double, rounded to float once.
template <class Type>
void MultiplyAdd(uint64_t* const* lanes) {
  constexpr int kDepth = Type::kDepth, kHalves = kDepth / 8;
  float a[16][kDepth], b[kDepth][8];
  for (int lane = 0; lane < kWarp; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int h = 0; h < kHalves; ++h) {
      const int k = kHalves * t + h;
      for (int i = 0; i < 4; ++i) a[g + 8 * (i % 2)][k + 4 * kHalves * (i / 2)] = Type::At(lanes[lane][i], h);
      for (int i = 0; i < 2; ++i) b[k + 4 * kHalves * i][g] = Type::At(lanes[lane][4 + i], h);
    }
  }
  for (int lane = 0; lane < kWarp; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
      double sum = std::bit_cast<float>(static_cast<uint32_t>(lanes[lane][6 + i]));
      for (int k = 0; k < kDepth; ++k) sum += double{a[row][k]} * b[k][column];
      lanes[lane][i] = std::bit_cast<uint32_t>(static_cast<float>(sum));
    }
  }
}

template <class Type>
void Mma(uint64_t* slots) {
  static constexpr WarpOp kMultiply = {"mma", MultiplyAdd<Type>};
  SyncWarp(kMultiply, slots, __builtin_return_address(0));
}

// slots: the low and the high value.
template <class Type>
void Pack(uint64_t* slots) {
  const auto bits = [&](int i) { return Type::Round(std::bit_cast<float>(static_cast<uint32_t>(slots[i]))); };
  slots[0] = bits(0) | bits(1) << 16;
}

template <class Type>
void Bits(uint64_t* slots) {
  slots[0] = Type::Round(std::bit_cast<float>(static_cast<uint32_t>(slots[0])));
}

void F16ValueOf(uint64_t* slots) { slots[0] = std::bit_cast<uint32_t>(F16::At(static_cast<uint32_t>(slots[0]), 0)); }

// Both halves of two words: an operation of floats, rounded once.
template <class Type, class Op>
void OfPairs(uint64_t* slots) {
  uint32_t bits[2];
  for (int half : {0, 1}) {
    bits[half] = Type::Round(
        Op()(Type::At(static_cast<uint32_t>(slots[0]), half), Type::At(static_cast<uint32_t>(slots[1]), half)));
  }
  slots[0] = bits[0] | bits[1] << 16;
}

void RoundTf32(uint64_t* slots) { slots[0] = Tf32::Round(std::bit_cast<float>(static_cast<uint32_t>(slots[0]))); }

void Exp2(uint64_t* slots) {
  const float x = std::bit_cast<float>(static_cast<uint32_t>(slots[0]));
  const float power = std::exp2(x);
  slots[0] = std::bit_cast<uint32_t>(power < std::numeric_limits<float>::min() ? 0 : power);
}

}  // namespace

std::span<const NamedDeviceFunction> MatrixFunctions() {
  static constexpr NamedDeviceFunction kFunctions[] = {
      {"ldmatrix_x1", Ldmatrix<1, false>},
      {"ldmatrix_x1_trans", Ldmatrix<1, true>},
      {"ldmatrix_x2", Ldmatrix<2, false>},
      {"ldmatrix_x2_trans", Ldmatrix<2, true>},
      {"ldmatrix_x4", Ldmatrix<4, false>},
      {"ldmatrix_x4_trans", Ldmatrix<4, true>},
      {"mma_m16n8k16_bf16", Mma<Bf16>},
      {"mma_m16n8k16_f16", Mma<F16>},
      {"mma_m16n8k8_tf32", Mma<Tf32>},
      {"pack_bf16", Pack<Bf16>},
      {"pack_f16", Pack<F16>},
      {"bf16_bits", Bits<Bf16>},
      {"f16_bits", Bits<F16>},
      {"add_f16x2", OfPairs<F16, std::plus<float>>},
      {"sub_f16x2", OfPairs<F16, std::minus<float>>},
      {"mul_f16x2", OfPairs<F16, std::multiplies<float>>},
      {"add_bf16x2", OfPairs<Bf16, std::plus<float>>},
      {"sub_bf16x2", OfPairs<Bf16, std::minus<float>>},
      {"mul_bf16x2", OfPairs<Bf16, std::multiplies<float>>},
      {"f16_value", F16ValueOf},
      {"round_tf32", RoundTf32},
      {"exp2", Exp2},
  };
  return kFunctions;
}

}  // namespace tailor::simt
