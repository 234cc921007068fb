// Support for fork(): threads do not survive in the child, and locks that other threads held stay locked there.
#ifndef TAILOR_EXEC_FORK_H_
#define TAILOR_EXEC_FORK_H_

#include <cstdint>
#include <mutex>

namespace tailor {

// The lock for rare bookkeeping (creating sessions, reading counters). It is unlocked in a forked child.
std::mutex& BookkeepingMutex();

// The number of forks between the process that loaded the library and this one. Threads of another generation do not
// exist in this process.
uint64_t ForkGeneration();

}  // namespace tailor

#endif  // TAILOR_EXEC_FORK_H_
