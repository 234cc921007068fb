// The allocator in host programs: first fit over static lifetimes and run-time sizes.
#ifndef TAILOR_CODEGEN_HOST_EMIT_EMIT_FIRST_FIT_H_
#define TAILOR_CODEGEN_HOST_EMIT_EMIT_FIRST_FIT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "codegen/host/memory_plan.h"
#include "llvm/IR/Module.h"

namespace tailor::host {

// The table that the emitted allocator reads: for each block in placing order its number, its number of conflicts, and
// the conflicts.
std::vector<int32_t> PlacementTable(const MemoryPlan& plan);

// Adds to `module`, unless it exists, the internal function
//   i64 @tailor.first_fit(ptr sizes, ptr offsets, ptr table, i64 blocks)
// It places blocks as PlaceBlocks does and returns the total bytes. The sum of `sizes` must fit in an i64.
absl::StatusOr<llvm::Function*> EmitFirstFit(llvm::Module& module);

}  // namespace tailor::host

#endif  // TAILOR_CODEGEN_HOST_EMIT_EMIT_FIRST_FIT_H_
