// Host implementations of `tailor.device.*` (codegen/cuda/device_ir/device_intrinsics.h, device_op_table.h), which
// emulated kernels call.
#ifndef TAILOR_TESTS_EMULATOR_DEVICE_FUNCTIONS_H_
#define TAILOR_TESTS_EMULATOR_DEVICE_FUNCTIONS_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace tailor::simt {

// Operand i is in the low bits of slots[i]; result i is written there.
using DeviceFunction = void (*)(uint64_t* slots);

struct NamedDeviceFunction {
  const char* name;  // after the prefix, without a type suffix: "shuffle_xor"
  DeviceFunction function;
};

std::span<const NamedDeviceFunction> ThreadFunctions();              // indices, barriers, shuffles
std::span<const NamedDeviceFunction> AsyncCopyFunctions();           // cp_async_*
std::span<const NamedDeviceFunction> MatrixFunctions();              // ldmatrix_*, mma_*
std::span<const NamedDeviceFunction> TransactionBarrierFunctions();  // mbarrier_*, bulk copies
std::span<const NamedDeviceFunction> WarpgroupFunctions();           // wgmma_*

// Null if there is none of that name.
DeviceFunction FindDeviceFunction(std::string_view name);

}  // namespace tailor::simt

#endif  // TAILOR_TESTS_EMULATOR_DEVICE_FUNCTIONS_H_
