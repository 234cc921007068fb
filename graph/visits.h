// Counts the work of a compilation: visited nodes, pairs of groups, terms of dim expressions, queries of facts, pairs
// of memory blocks. One counter per thread. Equal compilations count the same, on any machine.
#ifndef TAILOR_GRAPH_VISITS_H_
#define TAILOR_GRAPH_VISITS_H_

#include <cstdint>

namespace tailor {

// Of the calling thread, since it started.
uint64_t Visits();
void CountVisits(uint64_t count = 1);

}  // namespace tailor

#endif  // TAILOR_GRAPH_VISITS_H_
