// A pass: kernels call the host's device functions.
#ifndef TAILOR_TESTS_EMULATOR_CALL_DEVICE_FUNCTIONS_H_
#define TAILOR_TESTS_EMULATOR_CALL_DEVICE_FUNCTIONS_H_

#include "llvm/IR/Module.h"

namespace tailor::simt {

// Replaces every call of a `tailor.device.*` function by a call of its DeviceFunction, operands and results in slots on
// the stack. The module then holds addresses of this process. Of a function that has none, the calls stay.
void CallDeviceFunctions(llvm::Module& module);

}  // namespace tailor::simt

#endif  // TAILOR_TESTS_EMULATOR_CALL_DEVICE_FUNCTIONS_H_
