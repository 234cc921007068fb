// Fault: an error inside a run, as plain numbers. Callbacks of generated code must not allocate or throw, so they
// record a fault, which becomes a Failure after the run has returned.
#ifndef TAILOR_EXEC_FAULT_H_
#define TAILOR_EXEC_FAULT_H_

#include <cstdint>

#include "codegen/contract/program.h"
#include "exec/failure.h"

namespace tailor {

// Kinds of numbered things in generated code, for Fault::Kind::kNumber.
enum class IndexKind : int32_t { kOutput, kBlock, kKernel, kDevice, kCustomCall };

struct Fault {
  enum class Kind : uint8_t {
    kNone,
    kCheck,         // check `index` failed with lhs, rhs
    kWorkspace,     // a workspace of lhs bytes cannot be allocated
    kOutputMemory,  // lhs bytes for output `index` cannot be allocated
    kOutputDim,     // output `index`, dim `dim`: the caller requests lhs, the result has rhs
    kOutputBytes,   // output `index`: the caller's buffer has lhs bytes, the result rhs
    kDevice,        // the device failed; its stream has the reason
    kProvider,      // the matmul provider failed with code lhs
    kCustom,        // the custom operator of call `index` failed with code lhs; the CustomCaller has the message
    kCancelled,     // another thread cancelled the run
    kDeadline,      // the run took longer than its timeout of lhs nanoseconds
    kNumber,        // the program used IndexKind(index) number lhs, which is not below rhs
  };
  Kind kind = Kind::kNone;
  int32_t index = 0;
  int32_t dim = 0;
  int64_t lhs = 0;
  int64_t rhs = 0;
};

// Whether the run was cancelled or exceeded its timeout.
inline bool WasInterrupted(const Fault& fault) {
  return fault.kind == Fault::Kind::kCancelled || fault.kind == Fault::Kind::kDeadline;
}

// Takes the fault record of device kernels, the four shape cache words from Variant::fault_word on. Kernels store the
// first fault there: check id + 1, lhs, rhs, unused; all zero means no fault. Clears the record. Returns false if there
// is no fault. Requires that the host has waited for the kernels.
bool TakeFault(volatile int64_t* record, Fault* out);

// The fault as a message for the user: a check's message with {lhs} and {rhs} filled in. kNone, and numbers that
// `program` does not have, are INTERNAL.
Failure DescribeFault(const Program& program, const Fault& fault);

}  // namespace tailor

#endif  // TAILOR_EXEC_FAULT_H_
