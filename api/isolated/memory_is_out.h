// In the worker, an allocation that fails ends the process: LLVM does not look, and what it leaves behind where an
// exception passes through it is undefined. malloc and its kin are replaced for that (memory_is_out.cc).
#ifndef TAILOR_API_ISOLATED_MEMORY_IS_OUT_H_
#define TAILOR_API_ISOLATED_MEMORY_IS_OUT_H_

namespace tailor::isolated {

// Called once, on the thread whose allocation failed; others may still run. It must not allocate, nor return.
// Until it is set, allocations that fail return NULL.
void SetMemoryIsOut(void (*end)());

}  // namespace tailor::isolated

#endif  // TAILOR_API_ISOLATED_MEMORY_IS_OUT_H_
