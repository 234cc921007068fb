// What forking asks for: threads do not survive in the child, and locks that others held stay locked there.
#ifndef TAILOR_EXEC_FORK_H_
#define TAILOR_EXEC_FORK_H_

#include <cstdint>
#include <mutex>

namespace tailor {

// The one lock for rare bookkeeping (making sessions, reading counters); free in a forked child.
std::mutex& BookkeepingMutex();

// How often this process is a fork of the one that loaded the library: threads made in another generation
// do not exist here.
uint64_t ForkGeneration();

}  // namespace tailor

#endif  // TAILOR_EXEC_FORK_H_
