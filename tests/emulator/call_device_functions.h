// A pass that makes kernels call the host's device functions.
#ifndef TAILOR_TESTS_EMULATOR_CALL_DEVICE_FUNCTIONS_H_
#define TAILOR_TESTS_EMULATOR_CALL_DEVICE_FUNCTIONS_H_

#include <string>

#include "llvm/IR/Module.h"

namespace tailor::simt {

// Replaces every call of a `tailor.device.*` function by a call of its DeviceFunction, with operands and results in
// stack slots. The module then contains addresses of this process. Returns the name of a called function without a
// DeviceFunction; empty if there is none.
std::string CallDeviceFunctions(llvm::Module& module);

}  // namespace tailor::simt

#endif  // TAILOR_TESTS_EMULATOR_CALL_DEVICE_FUNCTIONS_H_
