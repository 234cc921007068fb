// What compiling will take of memory, estimated from the lowered program: so that a limit refuses before LLVM begins,
// which ends the process where it gets no memory.
#ifndef TAILOR_CODEGEN_BACKEND_MEMORY_ESTIMATE_H_
#define TAILOR_CODEGEN_BACKEND_MEMORY_ESTIMATE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "codegen/lower/lowered_program.h"

namespace tailor::backend {

// In bytes. Above what models were measured to take (tests/models/compile_memory_test.py), not a bound.
struct MemoryEstimate {
  uint64_t constants = 0;  // packed, and once more in the artifact
  uint64_t code = 0;       // machine code of all targets, and tables
  uint64_t thread = 0;     // LLVM's, while it compiles one module
};

// Of a program compiled for `targets` targets of one backend, where compiling a module takes `thread` bytes.
MemoryEstimate EstimateMemory(const lower::LoweredProgram& program, size_t targets, uint64_t thread);

// The most threads, at most `threads`, with which all estimates are within `limit` bytes. RESOURCE_EXHAUSTED where one
// thread is too much.
absl::StatusOr<int> ThreadsWithin(uint64_t limit, const std::vector<MemoryEstimate>& estimates, int threads);

}  // namespace tailor::backend

#endif  // TAILOR_CODEGEN_BACKEND_MEMORY_ESTIMATE_H_
