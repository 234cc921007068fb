// Fault: what went wrong inside a run, as plain numbers. Generated code must not meet allocation or
// exceptions, so callbacks note a fault, and it becomes a Failure after the run has returned.
#ifndef TAILOR_EXEC_FAULT_H_
#define TAILOR_EXEC_FAULT_H_

#include <cstdint>

#include "codegen/contract/program.h"
#include "exec/failure.h"

namespace tailor {

// What generated code names by a number, for Fault::Kind::kNumber.
enum class Numbered : int32_t { kOutput, kBlock, kKernel, kDevice };

struct Fault {
  enum class Kind : uint8_t {
    kNone,
    kCheck,         // check `index` failed with lhs, rhs
    kWorkspace,     // no workspace of lhs bytes
    kOutputMemory,  // no lhs bytes for output `index`
    kOutputDim,     // output `index`, dim `dim`: the caller wants lhs, the result has rhs
    kOutputBytes,   // output `index`: the caller gives lhs bytes, the result has rhs
    kDevice,        // the device failed: its stream knows why
    kProvider,      // the product provider failed with code lhs
    kNumber,        // the program named Numbered(index) number lhs, of which there are rhs
  };
  Kind kind = Kind::kNone;
  int32_t index = 0;
  int32_t dim = 0;
  int64_t lhs = 0;
  int64_t rhs = 0;
};

// Reads the record in which kernels of a device report the first fault that one of them finds, the four shape cache words from
// Variant::fault_word on: id of the check + 1, lhs, rhs, unused; all zero where there is none. Clears it. Requires that
// the host has waited for the kernels. False where there is no fault.
bool TakeFault(volatile int64_t* record, Fault* out);

// The fault in the user's words: a check's message with {lhs} and {rhs} filled in. kNone, or numbers that
// `program` does not have, are INTERNAL.
Failure DescribeFault(const Program& program, const Fault& fault);

}  // namespace tailor

#endif  // TAILOR_EXEC_FAULT_H_
