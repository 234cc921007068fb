// A pass that makes kernels report their memory accesses to the access checker.
#ifndef TAILOR_TESTS_EMULATOR_INSTRUMENT_ACCESSES_H_
#define TAILOR_TESTS_EMULATOR_INSTRUMENT_ACCESSES_H_

#include "llvm/IR/Module.h"

namespace tailor::simt {

// Inserts a call before every atomic or volatile access that lets other threads run. With `checks`, also a call of
// RunningChecker() before every access: of the claimed alignment and, unless the memory is on the thread's stack or a
// constant of the module, of the access itself. The module then contains addresses of this process.
void InstrumentAccesses(llvm::Module& module, bool checks);

}  // namespace tailor::simt

#endif  // TAILOR_TESTS_EMULATOR_INSTRUMENT_ACCESSES_H_
