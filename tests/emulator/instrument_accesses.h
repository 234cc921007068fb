// A pass: kernels tell the access checker what they access.
#ifndef TAILOR_TESTS_EMULATOR_INSTRUMENT_ACCESSES_H_
#define TAILOR_TESTS_EMULATOR_INSTRUMENT_ACCESSES_H_

#include "llvm/IR/Module.h"

namespace tailor::simt {

// Puts a call before every atomic or volatile access that lets other threads run; where `checks`, also one of
// RunningChecker() before every access: of the alignment that the instruction claims, and of memory that is not on the
// thread's stack nor a constant of the module, of what the access may touch. The module then holds addresses of this
// process.
void InstrumentAccesses(llvm::Module& module, bool checks);

}  // namespace tailor::simt

#endif  // TAILOR_TESTS_EMULATOR_INSTRUMENT_ACCESSES_H_
