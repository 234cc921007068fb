// In the worker, a failed allocation ends the process: LLVM does not check, and an exception that passes through it
// leaves an undefined state. malloc and its relatives are replaced for that (out_of_memory.cc).
#ifndef TAILOR_API_ISOLATED_OUT_OF_MEMORY_H_
#define TAILOR_API_ISOLATED_OUT_OF_MEMORY_H_

namespace tailor::isolated {

// Sets the function to call once, on the thread whose allocation failed, while other threads may run. It must not
// allocate or return. Until it is set, failed allocations return NULL.
void SetOutOfMemory(void (*end)());

}  // namespace tailor::isolated

#endif  // TAILOR_API_ISOLATED_OUT_OF_MEMORY_H_
