// The allocator that host programs carry: first fit over static lifetimes and run-time sizes.
#ifndef TAILOR_CODEGEN_EMIT_FIRST_FIT_H_
#define TAILOR_CODEGEN_EMIT_FIRST_FIT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "codegen/host_program.h"
#include "llvm/IR/Module.h"

namespace tailor {

// What the emitted allocator walks: for each block in placing order, the block's number, how many earlier placed
// blocks are live at the same time, and their numbers.
std::vector<int32_t> PlacementTable(const HostProgram& program);

// Adds to `module` the internal function
//   i64 @tailor.first_fit(ptr sizes, ptr offsets, ptr table, i64 blocks)
// which sets offsets[i] to the lowest offset at which block i overlaps none that shares its lifetime, and
// returns the bytes that all of them span. The sum of `sizes` must fit in an i64.
absl::StatusOr<llvm::Function*> EmitFirstFit(llvm::Module& module);

}  // namespace tailor

#endif  // TAILOR_CODEGEN_EMIT_FIRST_FIT_H_
