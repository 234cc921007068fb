// A pass: kernels call the host's device functions.
#ifndef TAILOR_TESTS_EMULATOR_CALL_DEVICE_FUNCTIONS_H_
#define TAILOR_TESTS_EMULATOR_CALL_DEVICE_FUNCTIONS_H_

#include <string>

#include "llvm/IR/Module.h"

namespace tailor::simt {

// Replaces every call of a `tailor.device.*` function by a call of its DeviceFunction, operands and results in slots on
// the stack. The module then holds addresses of this process. Returns the name of a called function that has none,
// empty if all have.
std::string CallDeviceFunctions(llvm::Module& module);

}  // namespace tailor::simt

#endif  // TAILOR_TESTS_EMULATOR_CALL_DEVICE_FUNCTIONS_H_
