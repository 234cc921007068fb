// Estimates the memory of compiling a lowered program. A limit is then enforced before LLVM starts, which aborts the
// process when an allocation fails.
#ifndef TAILOR_CODEGEN_BACKEND_MEMORY_ESTIMATE_H_
#define TAILOR_CODEGEN_BACKEND_MEMORY_ESTIMATE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/lower/lowered_program.h"

namespace tailor::backend {

// In bytes. Above the measurements on models (tests/models/compile_memory_test.py), but not an upper bound.
struct MemoryEstimate {
  uint64_t constants = 0;  // packed constants and their copy in the artifact
  uint64_t code = 0;       // machine code of all targets, and tables
  uint64_t thread = 0;     // LLVM's memory per thread while it compiles one module
};

// The estimate for `targets` targets of one backend, where compiling a module takes `thread` bytes.
MemoryEstimate EstimateMemory(const lower::LoweredProgram& program, size_t targets, uint64_t thread);

// The largest number of threads, at most `threads`, for which all estimates are within `limit` bytes.
// RESOURCE_EXHAUSTED if one thread is too much.
absl::StatusOr<int> ThreadsWithin(uint64_t limit, const std::vector<MemoryEstimate>& estimates, int threads);

}  // namespace tailor::backend

#endif  // TAILOR_CODEGEN_BACKEND_MEMORY_ESTIMATE_H_
